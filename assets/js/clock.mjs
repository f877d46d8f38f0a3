// @ts-check
/** Where the picture is: a step and the milliseconds within it. Time never does anything else. */

/** @typedef {{ step: number, ms: number }} Moment */

export const SPEEDS = [0.25, 0.5, 1, 2, 4]
/** A frame never jumps further than this, so a sleeping tab wakes where it fell asleep. */
const MAX_FRAME_MS = 100

/**
 * The moment after `elapsed` milliseconds. While playing, steps follow each other up to the last;
 * otherwise the present step's own motion runs out and stays at rest.
 * @param {Moment} moment
 * @param {{ elapsed: number, speed: number, playing: boolean, lastStep: number, stepMs: number }} options
 * @returns {Moment & { ended: boolean, moving: boolean }}
 */
export function advanced({ step, ms }, { elapsed, speed, playing, lastStep, stepMs }) {
  ms += Math.min(elapsed, MAX_FRAME_MS) * speed
  while (playing && ms >= stepMs && step < lastStep) {
    step += 1
    ms -= stepMs
  }
  const resting = ms >= stepMs
  return { step, ms: Math.min(ms, stepMs), ended: playing && resting, moving: !resting }
}

/** What is painted: with reduced motion, whole steps only. @param {Moment} moment @param {boolean} reduced @param {number} stepMs */
export const paintedMs = (moment, reduced, stepMs) => (reduced ? stepMs : moment.ms)

/** @param {number} step @param {number} lastStep */
export const clampStep = (step, lastStep) => Math.min(lastStep, Math.max(0, Math.round(step) || 0))
