/** Whether a call must change nothing, since nobody waits for it any more. */
export function isLate(
  { notAfter }: { readonly notAfter?: number | undefined },
  now: number,
): boolean {
  return notAfter !== undefined && now > notAfter;
}
