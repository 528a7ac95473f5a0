/** The workers, wherever they run. */
export interface Crew {
  /** A description in a few words. */
  readonly description: string;
  /** Resolves when every worker works. */
  start(): Promise<void>;
  /** Lets every worker end its request and release its permit. */
  stop(): Promise<void>;
}
