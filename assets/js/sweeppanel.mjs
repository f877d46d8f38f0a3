// @ts-check
/** The counters of a sweep, ticking with it, and the comparison that stands at its end. */
import { el, setAttr, setText } from "./dom.mjs"
import { filled, ratioText, wholeText } from "./sweepdata.mjs"

const TILES = [
  ["weights", "Weights read"], ["bytes", "Bytes read"], ["macs", "Multiply-adds"],
  ["flops", "FLOPs"], ["ratio", "FLOP per byte"], ["outputs", "Outputs ready"],
]

export class SweepPanel {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.tiles = el("dl", { class: "onr-sweep-tiles" })
    /** @type {Record<string, { value: HTMLElement, beside: HTMLElement }>} */
    this.parts = {}
    for (const [id, label] of TILES) this.add(id, label)
    this.badge = el("summary")
    this.why = el("p", { class: "onr-proof-why" })
    this.ideal = el("span", { class: "onr-ideal" })
    this.parts.ratio.value.after(this.ideal)
    this.proof = el("details", { class: "onr-proof", "data-state": "waiting", "data-onr": "proof" }, this.badge, this.why)
    host.append(this.tiles, this.proof)
  }

  /** @param {string} id @param {string} label */
  add(id, label) {
    const value = el("span", { class: "onr-value" })
    const beside = el("span", { class: "onr-beside" })
    this.parts[id] = { value, beside }
    const kind = "Counted by the loop that ran"
    this.tiles.append(el("div", { class: "onr-tile", "data-id": id, title: `${label}. ${kind}` }, el("dt", {}, label), el("dd", {}, value, beside)))
  }

  /** @param {string} id @param {string} value @param {string} beside */
  set(id, value, beside) {
    setText(this.parts[id].value, value)
    setText(this.parts[id].beside, beside)
  }

  /**
   * @param {import("./sweepdata.mjs").SweepData} sweep
   * @param {{ dtype: string, rows: number }} view
   * @param {{ columns: number, terms: number, moving: boolean }} now
   */
  paint(sweep, { dtype, rows }, now) {
    const c = sweep.counters(dtype, rows, now.columns, now.terms)
    const precision = sweep.precision(dtype)
    const width = precision.activation_width
    const all = sweep.dIn * sweep.dOut
    this.set("weights", wholeText(c.weightsRead), `of ${wholeText(all)}, counted`)
    this.set("bytes", `${wholeText(c.bytes)} B`, precision.bits_short)
    setAttr(this.parts.bytes.beside, "title", precision.bits_text)
    this.set("macs", wholeText(c.multiplyAdds), rows === 1 ? "one per weight" : `${rows} per weight`)
    this.set("flops", wholeText(c.flops), "2 per multiply-add")
    const ideal = precision.ideal_intensity * rows
    const apart = Math.abs(ideal - c.perWeightByte) > 0.005 * ideal && c.bytes > 0
    this.set("ratio", c.bytes ? ratioText(c.perWeightByte) : "–",
      c.bytes ? `${ratioText(c.perByte)} with activations` : "")
    setText(this.ideal, apart ? `ideal ${Number.isInteger(ideal) ? wholeText(ideal) : ratioText(ideal)}` : "")
    this.set("outputs", `${wholeText(now.columns)} of ${wholeText(sweep.dOut)}`,
      `in ${wholeText(c.activationsIn * width)} B, out ${wholeText(c.activationsOut * width)} B`)
    this.compare(sweep, { dtype, rows }, now.columns === sweep.dOut && !now.moving)
  }

  /** The check: counts on the closed form, outputs on torch's product.
   * @param {import("./sweepdata.mjs").SweepData} sweep @param {{ dtype: string, rows: number }} view @param {boolean} finished */
  compare(sweep, { dtype, rows }, finished) {
    const { words } = sweep.payload
    const precision = sweep.precision(dtype)
    const [same, exact] = sweep.errors(dtype, rows)
    const counted = sweep.counters(dtype, rows, sweep.dOut)
    const holds = precision.closed_form_holds && precision.is_torchs_product && counted.bytes === precision.weight_bytes
    const state = !finished ? "waiting" : holds ? "ok" : "failed"
    const key = [state, dtype, rows, sweep.payload.words.matrix, same, exact].join("|")
    if (this.proof.dataset.key === key) return
    this.proof.dataset.key = key
    setAttr(this.proof, "data-state", state)
    const title = finished ? holds ? `✓ ${words.equal}` : `✗ ${words.unequal}` : words.compare_later
    const detail = finished ? filled(exact === same ? words.difference : words.difference_stored, { same, exact }) : ""
    this.badge.replaceChildren(el("strong", {}, title), el("span", { class: "onr-proof-detail" }, detail))
    setText(this.why, words.why_equal)
  }
}
