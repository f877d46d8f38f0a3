// @ts-check
/**
 * Sliders for whole sizes that follow the hand: the words change at once, the server is asked
 * for one plan at a time, and the last wish always wins.
 */
import { el, setAttr, setText } from "./dom.mjs"

/** A plan later than this is not waited for any more. */
const LOST_MS = 3_000

/**
 * What to ask next: nothing while an answer is due, the newest wish otherwise.
 * @param {{ wanted: Record<string, number>|null, asked: Record<string, number>|null, askedAt: number }} state
 * @param {number} now
 */
export function nextWish({ wanted, asked, askedAt }, now) {
  if (!wanted || (asked && now - askedAt < LOST_MS)) return null
  return wanted
}

/** @param {Record<string, number>|null} a @param {Record<string, number>|null} b */
export const sameSizes = (a, b) =>
  Boolean(a && b && Object.keys(a).every((name) => a[name] === b[name]))

/** @typedef {{ name: string, label: string, places: number[], texts: string[], value: number }} Size */

export class SizeSliders {
  /** @param {HTMLElement} host @param {(sizes: Record<string, number>) => void} ask */
  constructor(host, ask) {
    this.ask = ask
    this.host = host
    /** @type {Map<string, { row: HTMLElement, input: HTMLInputElement, output: HTMLElement, size: Size }>} */
    this.rows = new Map()
    /** @type {{ wanted: Record<string, number>|null, asked: Record<string, number>|null, askedAt: number }} */
    this.state = { wanted: null, asked: null, askedAt: 0 }
  }

  /** A plan arrived with these sizes. @param {Size[]} sizes */
  receive(sizes) {
    for (const size of sizes) this.row(size).size = size
    for (const [name, { row }] of this.rows) row.hidden = !sizes.some((size) => size.name === name)
    const values = Object.fromEntries(sizes.map(({ name, value }) => [name, value]))
    const { wanted, asked } = this.state
    if (!asked || sameSizes(asked, values)) this.state.asked = null
    if (sameSizes(wanted, values) || !asked) this.state.wanted = null
    if (!this.state.wanted) this.show()
    this.flush()
  }

  /** @param {Size} size */
  row(size) {
    const known = this.rows.get(size.name)
    if (known) return known
    const input = /** @type {HTMLInputElement} */ (el("input", { type: "range", class: "onr-scrub", min: "0", step: "1", "aria-label": size.label }))
    const output = el("output", { class: "onr-size-value" })
    const row = el("label", { class: "onr-size", "data-size": size.name }, el("span", {}, size.label), input, output)
    const made = { row, input, output, size }
    input.addEventListener("input", () => this.moved(made))
    this.rows.set(size.name, made)
    this.host.append(row)
    return made
  }

  /** @param {{ input: HTMLInputElement, size: Size }} row */
  moved({ input, size }) {
    const base = this.state.wanted ?? this.values()
    this.state.wanted = { ...base, [size.name]: size.places[Number(input.value)] }
    this.show()
    this.flush()
  }

  values() {
    return Object.fromEntries([...this.rows].map(([name, { size }]) => [name, size.value]))
  }

  flush() {
    const wish = nextWish(this.state, performance.now())
    if (!wish) return
    this.state.asked = wish
    this.state.askedAt = performance.now()
    this.ask(wish)
  }

  /** Thumbs and words where the hand is, or where the plan is. */
  show() {
    const values = this.state.wanted ?? this.values()
    for (const [name, { input, output, size }] of this.rows) {
      const at = Math.max(0, size.places.indexOf(values[name]))
      const last = size.places.length - 1
      if (input.max !== String(last)) input.max = String(last)
      if (input.value !== String(at)) input.value = String(at)
      input.style.setProperty("--share", String(last ? at / last : 0))
      setAttr(input, "aria-valuetext", size.texts[at])
      setText(output, size.texts[at])
    }
  }
}
