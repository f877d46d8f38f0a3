// @ts-check
/** One run as the pictures see it: decoded lazily, one head at a time, and never changed. */
import { decodeHalves, halvesToFloats, triSize } from "./draw.mjs"

/** One decode step at speed 1, in milliseconds, and where its phases end. */
export const STEP_MS = 1200
export const PHASE_ENDS = { land: 250, draw: 750, settle: 1000 }

/** @param {number} t in [0, 1] */
const ease = (t) => t * t * (3 - 2 * t)

/** @param {number} value @param {number} from @param {number} to */
const share = (value, from, to) => Math.min(1, Math.max(0, (value - from) / (to - from)))

/** How far each phase of a step has come at `ms`, each in [0, 1]. @param {number} ms */
export function phasesAt(ms) {
  return {
    land: ease(share(ms, 0, PHASE_ENDS.land)),
    draw: share(ms, PHASE_ENDS.land, PHASE_ENDS.draw),
    settle: ease(share(ms, PHASE_ENDS.draw, PHASE_ENDS.settle)),
  }
}

/** A coarse phase number for what only switches: 0 land, 1 draw, 2 settle, 3 rest. @param {number} ms */
export const phaseNumber = (ms) =>
  ms < PHASE_ENDS.land ? 0 : ms < PHASE_ENDS.draw ? 1 : ms < PHASE_ENDS.settle ? 2 : 3

export class Run {
  /** @param {any} payload format 1 */
  constructor(payload) {
    if (payload.format !== 1) throw new Error(`run payload format must be 1, got ${payload.format}`)
    this.payload = payload
    this.id = payload.id
    this.nPrompt = payload.n_prompt
    this.nRows = payload.n_rows
    this.nSteps = payload.steps.length
    this.lastStep = this.nSteps - 1
    this.model = payload.model
    this.groupSize = this.model.n_heads / this.model.n_kv_heads
    /** @type {Record<string, Uint16Array>} */
    this.halves = {}
    /** @type {Map<string, any>} */
    this.decoded = new Map()
  }

  /** Rows that exist at a step; step 0 is prefill. @param {number} step */
  rowsAt(step) {
    return Math.min(this.nRows, this.nPrompt + Math.max(0, step))
  }

  /** The row that this step added, or -1 for prefill. @param {number} step */
  newestRow(step) {
    return step > 0 ? this.rowsAt(step) - 1 : -1
  }

  /** @param {number} position */
  label(position) {
    return this.payload.tokens[position]?.label ?? ""
  }

  /** @param {number} step */
  frame(step) {
    return this.payload.steps[Math.min(this.lastStep, Math.max(0, step))]
  }

  /** @param {string} field @param {number} start @param {number} length */
  floats(field, start, length) {
    const cacheKey = `${field}:${start}`
    const known = this.decoded.get(cacheKey)
    if (known) return known
    this.halves[field] ??= decodeHalves(this.payload[field])
    const floats = halvesToFloats(this.halves[field], start, length)
    this.decoded.set(cacheKey, floats)
    return floats
  }

  /** Packed triangle of one head. @param {"dots"|"weights"} field @param {number} layer @param {number} head */
  triangle(field, layer, head) {
    const size = triSize(this.nRows)
    return this.floats(field, (layer * this.model.n_heads + head) * size, size)
  }

  /** (n_rows, head_dim), row-major. @param {"keys"|"values"} field @param {number} layer @param {number} kvHead */
  cache(field, layer, kvHead) {
    const size = this.nRows * this.model.head_dim
    return this.floats(field, (layer * this.model.n_kv_heads + kvHead) * size, size)
  }

  /** @param {number} layer @param {number} head */
  namedHead(layer, head) {
    return (this.payload.heads ?? []).find((/** @type {any} */ h) => h.layer === layer && h.head === head)
  }
}

/** @type {WeakMap<object, Run>} */
const runs = new WeakMap()

/** The decoded run of a payload, made once. @param {any} payload @returns {Run|null} */
export function runOf(payload) {
  if (!payload) return null
  let run = runs.get(payload)
  if (!run) runs.set(payload, (run = new Run(payload)))
  return run
}

/**
 * Is `next` the same story as `prev`, perhaps longer, so that the step may stay?
 * @param {Run|null} prev @param {Run|null} next
 */
export function continuesRun(prev, next) {
  if (!prev || !next || prev.nPrompt !== next.nPrompt) return false
  const shared = Math.min(prev.nRows, next.nRows)
  for (let i = 0; i < shared; i++) {
    if (prev.payload.tokens[i].id !== next.payload.tokens[i].id) return false
  }
  return true
}
