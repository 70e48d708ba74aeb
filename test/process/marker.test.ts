/**
 * Markers: what a process is given, and what is read of one that may have been given anything.
 *
 * Deliberately absent: processes that carry them (`linux.test.ts`, `survivors.test.ts`).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MARKER, marked, markersIn, mintMarker } from '../../src/process/marker.ts';

const minted = fc.option(fc.nat()).map(mintMarker);
const entriesOf = (value: string) => ['PATH=/bin', `${MARKER}=${value}`, 'HOME=/'];

describe('marked', () => {
  it('for any hosts within hosts keeps the nearest sixteen, its own first', () => {
    fc.assert(
      fc.property(fc.array(minted, { minLength: 1, maxLength: 40 }), (markers) => {
        // The outermost begins without a value of its own.
        const value = markers.reduce((above, marker) => marked(marker, above), '');
        expect(markersIn(entriesOf(value))).toEqual(markers.toReversed().slice(0, 16));
      }),
    );
  });

  it('for any value above passes on markers only, in a bounded length', () => {
    fc.assert(
      fc.property(minted, fc.string({ maxLength: 5_000 }), (own, above) => {
        const value = marked(own, above);
        expect(value.split(',')[0]).toBe(own);
        expect(value.length).toBeLessThanOrEqual(16 * 97);
        expect(value).toMatch(/^[0-9a-f.,]+$/);
      }),
    );
  });

  it.each(['0.0', 'a.1.b', '1.2.above', '1.2.a b', '-1.2.a', ' 1.2.a', '1.2.'])(
    'passes nothing like %j on',
    (above) => {
      expect(marked('1.2.a', above)).toBe('1.2.a');
    },
  );
});

describe('markersIn', () => {
  it('is empty where there is no marker', () => {
    expect([markersIn([]), markersIn(['PATH=/bin', `X${MARKER}=1.2.a`])]).toEqual([[], []]);
  });
});
