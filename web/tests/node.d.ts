// Purpose: declare the few functions of node that the tests use; its own types are not in Debian's package.

declare module 'node:test' {
  export function test(name: string, body: () => void | Promise<void>): void;
}

declare module 'node:assert/strict' {
  interface Assert {
    equal(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    ok(value: unknown, message?: string): void;
    throws(body: () => unknown, expected?: RegExp): void;
    rejects(body: Promise<unknown>, expected?: RegExp): Promise<void>;
  }
  const assert: Assert;
  export default assert;
}

declare module 'node:zlib' {
  export function gzipSync(bytes: Uint8Array, options?: {level?: number}): Uint8Array;
}

declare module 'node:fs' {
  export function readFileSync(path: string): Uint8Array;
  export function readFileSync(path: string, encoding: 'utf8'): string;
  export function writeFileSync(path: string, data: string | Uint8Array): void;
}

declare module 'node:crypto' {
  export function createHash(name: string): {update(text: string): {digest(encoding: 'base64'): string}};
}

declare const process: {readonly argv: readonly string[]; exit(code: number): never};
