// Purpose: declare what browsers have and the DOM types of TypeScript 4.8 lack.

declare class DecompressionStream {
  constructor(format: 'gzip');
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

interface Uint8ArrayConstructor {
  fromBase64?(text: string): Uint8Array;
}
