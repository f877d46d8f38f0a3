// @ts-check
/**
 * How long each column of a sweep takes: the first one term by term, then faster and faster.
 * Step 0 is the matrix unread; step s has swept the columns 0 to s - 1.
 */

/** The first columns at speed 1, in milliseconds; after them each takes this share of the one before. */
export const SLOW_MS = [250, 3600, 1200, 700, 450]
const QUICKER = 0.86
/** All columns but the slow ones together take no longer than this, however many there are. */
const REST_MS = 5500

/** Milliseconds of step `step` while it plays. @param {number} step @param {number} columns */
export function sweepStepMs(step, columns) {
  if (step < SLOW_MS.length) return SLOW_MS[Math.max(0, step)]
  const last = SLOW_MS[SLOW_MS.length - 1]
  const least = REST_MS / Math.max(1, columns)
  return Math.max(least, last * QUICKER ** (step - SLOW_MS.length + 1))
}

/** Terms of the present column that have been added at `ms`; a rest at the end shows the sum.
 * @param {number} ms @param {number} stepMs @param {number} terms */
export function termsAt(ms, stepMs, terms) {
  if (ms >= stepMs) return terms
  const share = Math.min(1, ms / (0.9 * stepMs))
  // The first few terms are read one by one, the others rush.
  const eased = stepMs > 2000 ? share ** 2.6 : share
  return Math.min(terms, Math.floor(eased * terms))
}
