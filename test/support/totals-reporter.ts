import Mocha from 'mocha';

/** The spec reporter, with one last line that a program can read. */
class TotalsReporter extends Mocha.reporters.Spec {
  override epilogue(): void {
    super.epilogue();
    const { passes, failures, pending } = this.stats;
    const skipped = pending === 0 ? '' : `, ${pending} skipped`;
    process.stdout.write(`${passes} passed, ${failures} failed${skipped}\n`);
  }

  /** A run without a single test has shown nothing, so it fails. */
  override done(failures: number, finish: (failures: number) => void): void {
    const { tests } = this.stats;
    finish(tests === 0 && failures === 0 ? 1 : failures);
  }
}

// Mocha takes the default export of a reporter's file for the class.
export { TotalsReporter as default };
