/** Flow: what waits for a reader is bounded and told, and a reader that takes nothing is not waited for without end. */
import { describe, expect, it } from 'vitest';
import { Flow, printed, type Sink } from '../../src/cli/flow.ts';
import { FakeClock } from '../support/fake-clock.ts';

const MIB = 1024 * 1024;

/** A stream whose reader takes what the test says. */
class Reader implements Sink {
  writableLength = 0;
  #done: (() => void)[] = [];

  write(bytes: Uint8Array, done: () => void = () => undefined): void {
    this.writableLength += bytes.length;
    this.#done.push(done);
  }
  take(bytes: number): void {
    this.writableLength -= bytes;
    if (this.writableLength > 0) return;
    for (const done of this.#done.splice(0)) done();
  }
}

function opened() {
  const reader = new Reader();
  const told: number[] = [];
  const write = (text: string) => reader.write(Buffer.from(text));
  return { reader, told, flow: new Flow(reader, write, (bytes) => told.push(bytes)) };
}

describe('Flow', () => {
  it('lets no more than its bound wait for a reader, and tells what it left out', () => {
    const { reader, told, flow } = opened();
    for (let piece = 0; piece < 40; piece += 1) flow.write('é'.repeat(MIB / 2));
    expect([reader.writableLength, told]).toEqual([32 * MIB, []]);
    flow.end();
    flow.end();
    expect(told).toEqual([8 * MIB]);
  });

  it('goes on when the reader does, and tells of the gap before', () => {
    const { reader, told, flow } = opened();
    for (let piece = 0; piece < 33; piece += 1) flow.write('x'.repeat(MIB));
    reader.take(2 * MIB);
    flow.write('on');
    expect([reader.writableLength, told]).toEqual([30 * MIB + 2, [MIB]]);
  });

  it('tells what others left out at once', () => {
    const { told, flow } = opened();
    flow.write('x', 7);
    expect(told).toEqual([7]);
  });
});

describe('printed', () => {
  it('is true once the reader has taken all', async () => {
    const [reader, clock] = [new Reader(), new FakeClock()];
    const whole = printed(reader, 'words', clock);
    reader.take(5);
    expect([await whole, clock.pending]).toEqual([true, 0]);
  });

  it('is false once a reader takes nothing for a minute, whatever it took before', async () => {
    const [reader, clock] = [new Reader(), new FakeClock()];
    let isWhole: boolean | null = null;
    const whole = printed(reader, 'words', clock).then((is) => {
      isWhole = is;
    });
    for (let byte = 0; byte < 3; byte += 1) {
      await clock.advance(59_999);
      reader.take(1);
      await clock.advance(1);
    }
    await clock.advance(59_999);
    expect(isWhole).toBeNull();
    await clock.advance(1);
    await whole;
    expect([isWhole, clock.pending]).toEqual([false, 0]);
  });
});
