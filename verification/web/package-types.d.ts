// The little that the tests use of packages that live in this folder's own node_modules, so that
// the repository type-checks without them.

declare module 'playwright-core' {
  export const chromium: {
    launch(options: { executablePath: string; args: string[] }): Promise<Browser>;
  };

  export interface Browser {
    newContext(options: ContextOptions): Promise<BrowserContext>;
    close(): Promise<void>;
  }

  export interface ContextOptions {
    viewport?: { width: number; height: number };
    colorScheme?: 'light' | 'dark';
    isMobile?: boolean;
    hasTouch?: boolean;
  }

  export interface BrowserContext {
    addInitScript(script: { content: string }): Promise<unknown>;
    newPage(): Promise<Page>;
    on(event: 'request', listener: (request: { url(): string }) => void): unknown;
    close(): Promise<void>;
  }

  export interface Page {
    readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
    on(event: 'pageerror', listener: (error: Error) => void): unknown;
    on(event: 'console', listener: (message: { type(): string; text(): string }) => void): unknown;
    goto(url: string): Promise<unknown>;
    locator(selector: string): Locator;
    evaluate<T>(script: string): Promise<T>;
    screenshot(options: { path: string }): Promise<unknown>;
    setViewportSize(size: { width: number; height: number }): Promise<void>;
  }

  export interface Locator {
    click(): Promise<void>;
    count(): Promise<number>;
    fill(text: string): Promise<void>;
    allInnerTexts(): Promise<string[]>;
    isVisible(): Promise<boolean>;
  }
}
