// @ts-check
/**
 * One swept matrix as the picture sees it. Numbers come from the payload; what is done here is
 * to unpack them, and to multiply whole counts per column by columns and rows.
 */
import { halfToFloat } from "./draw.mjs"

/** Raw bytes from base64. @param {string} base64 @returns {Uint8Array} */
export function decodeBytes(base64) {
  const binary = atob(base64)
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}

/** @param {string} base64 */
const floatsOf = (base64) => new Float32Array(decodeBytes(base64).buffer)
/** @param {string} base64 */
const signedOf = (base64) => new Int8Array(decodeBytes(base64).buffer)
/** @param {string} base64 */
const wordsOf = (base64) => new Uint16Array(decodeBytes(base64).buffer)

/** The number whose upper 16 bits these are. @param {number} bits */
export function upperToFloat(bits) {
  return new Float32Array(new Uint32Array([bits << 16]).buffer)[0]
}

/** @typedef {{ weightsRead: number, bytes: number, multiplyAdds: number, flops: number, activationsIn: number, activationsOut: number, activationBytes: number, perWeightByte: number, perByte: number }} Counters */

export class SweepData {
  /** @param {any} payload format 1 */
  constructor(payload) {
    if (payload.format !== 1) throw new Error(`sweep payload format must be 1, got ${payload.format}`)
    this.payload = payload
    this.dIn = payload.d_in
    this.dOut = payload.d_out
    this.maxRows = payload.max_rows
    this.x = floatsOf(payload.x)
    this.xLevels = signedOf(payload.x_levels)
    this.cellsIn = Math.ceil(this.dIn / payload.blocks.along_in)
    this.cellsOut = Math.ceil(this.dOut / payload.blocks.along_out)
    /** @type {Map<string, any>} */
    this.unpacked = new Map()
  }

  /** A precision, unpacked at first use. @param {string} name */
  precision(name) {
    const known = this.unpacked.get(name)
    if (known) return known
    const sent = this.payload.dtypes[name]
    const whole = sent.encoding === "int8" || sent.encoding === "int4"
    const made = {
      ...sent,
      codes: sent.encoding === "single" ? floatsOf(sent.weights)
        : sent.encoding === "int8" ? signedOf(sent.weights)
        : sent.encoding === "int4" ? decodeBytes(sent.weights) : wordsOf(sent.weights),
      scaleBits: whole ? wordsOf(sent.scales) : null,
      gridLevels: signedOf(sent.grid),
      results: floatsOf(sent.outputs),
      outLevels: signedOf(sent.out_levels),
    }
    this.unpacked.set(name, made)
    return made
  }

  /** One weight as stored: its value, and for whole numbers the number and its scale.
   * @param {string} name @param {number} row along d_in @param {number} column along d_out */
  weight(name, row, column) {
    const p = this.precision(name)
    const index = column * this.dIn + row
    if (p.encoding === "half") return { value: halfToFloat(p.codes[index]), code: null, scale: null }
    if (p.encoding === "bfloat") return { value: upperToFloat(p.codes[index]), code: null, scale: null }
    if (p.encoding === "single") return { value: p.codes[index], code: null, scale: null }
    const code = p.encoding === "int8" ? p.codes[index] : ((p.codes[index >> 1] >> (index & 1 ? 4 : 0)) & 15) - 8
    const group = Math.floor(row / (this.dIn / p.n_groups))
    const scale = halfToFloat(p.scaleBits[column * p.n_groups + group])
    return { value: code * scale, code, scale }
  }

  /** The sum of the first `terms` products of a column; all of them are the computed output.
   * @param {string} name @param {number} column @param {number} terms */
  runningSum(name, column, terms) {
    if (terms >= this.dIn) return this.precision(name).results[column]
    let sum = 0
    for (let i = 0; i < terms; i++) sum += this.x[i] * this.weight(name, i, column).value
    return sum
  }

  /** Counts after whole columns and `terms` of the next one: whole numbers times whole numbers.
   * @param {string} name @param {number} rows @param {number} columns @param {number} [terms] @returns {Counters} */
  counters(name, rows, columns, terms = 0) {
    const { column_bytes: perColumn, activation_width: width } = this.precision(name)
    const weightsRead = columns * this.dIn + terms
    const bytes = columns * perColumn + Math.floor((terms * perColumn) / this.dIn)
    const multiplyAdds = rows * weightsRead
    const flops = 2 * multiplyAdds
    const activationsIn = weightsRead ? rows * this.dIn : 0
    const activationsOut = rows * columns
    const activationBytes = (activationsIn + activationsOut) * width
    return {
      weightsRead, bytes, multiplyAdds, flops, activationsIn, activationsOut, activationBytes,
      perWeightByte: bytes ? flops / bytes : 0,
      perByte: bytes ? flops / (bytes + activationBytes) : 0,
    }
  }

  /** The error texts for R rows: against torch, against the weights as they were.
   * @param {string} name @param {number} rows @returns {[string, string]} */
  errors(name, rows) {
    const listed = this.precision(name).errors
    const last = listed.findLast((/** @type {any} */ entry) => entry[0] <= rows) ?? listed[0]
    return [last[1], last[2]]
  }

  /** How many of the drawable rows lie within R. @param {number} rows */
  drawnWithin(rows) {
    const drawn = this.payload.drawn_rows
    const beyond = drawn.findIndex((/** @type {number} */ row) => row >= rows)
    return beyond < 0 ? drawn.length : beyond
  }
}

/** @type {WeakMap<object, SweepData>} */
const sweeps = new WeakMap()

/** The unpacked sweep of a payload, made once. @param {any} payload @returns {SweepData|null} */
export function sweepOf(payload) {
  if (!payload) return null
  let sweep = sweeps.get(payload)
  if (!sweep) sweeps.set(payload, (sweep = new SweepData(payload)))
  return sweep
}

/** A whole number with its thousands separated. @param {number} value */
export const wholeText = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 0 })

/** FLOP per byte: two decimals, one from 100 on. @param {number} value */
export function ratioText(value) {
  const digits = value < 100 ? 2 : 1
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** A signed value with four decimals, minus as a minus sign. @param {number} value */
export const signedText = (value) => value.toFixed(4).replace("-", "−")

/** Put values into a template such as "Column {column}". @param {string} template @param {Record<string, string>} values */
export const filled = (template, values) => template.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole)

/** A typed row count, or null where it is none. @param {string} text @param {number} most */
export function typedRows(text, most) {
  const clean = text.trim()
  const value = /^\d{1,9}$/.test(clean) ? Number(clean) : 0
  return value >= 1 && value <= most ? value : null
}
