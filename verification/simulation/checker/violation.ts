/** A promise that was not kept. */
export interface Violation {
  readonly rule: string;
  readonly at: number;
  readonly message: string;
}

export type Report = (rule: string, at: number, message: string) => void;
