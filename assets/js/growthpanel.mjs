// @ts-check
/** The numbers beside the growing cache: what is in it, what a step adds and reads, what is reserved. */
import { el, setAttr, setText } from "./dom.mjs"

export class GrowthPanel {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.heading = el("span")
    this.tiles = el("dl", { class: "onr-tiles" })
    this.proof = el("div", { class: "onr-proof", "data-onr": "proof" })
    this.text = el("p", { class: "onr-text", dir: "auto", "data-onr": "text" })
    host.append(el("h3", { class: "onr-h" }, this.heading), this.tiles, this.proof, this.text)
    /** @type {any} */
    this.shown = null
  }

  /** @param {any} payload @param {number} step @param {number} phase */
  paint(payload, step, phase) {
    const frame = payload.steps[Math.min(step, payload.steps.length - 1)]
    if (this.shown !== frame) {
      this.shown = frame
      setText(this.heading, step === 0 ? "Prefill, all layers" : `Decode step ${step}, all layers`)
      this.showTiles(frame.panel)
      this.showProof(frame.proof)
      this.text.replaceChildren(...frame.text.map((/** @type {string[]} */ [words, role]) => el("span", { class: `onr-${role}-text` }, words)))
      this.text.scrollTop = this.text.scrollHeight
    }
    // The chosen token shows once the pass is through, as on every page.
    setAttr(this.text, "data-phase", String(phase))
  }

  /** @param {any[]} tiles */
  showTiles(tiles) {
    this.tiles.replaceChildren(...tiles.map((tile) =>
      el("div", { class: "onr-tile", "data-id": tile.id },
        el("dt", {}, tile.label, el("span", { class: "onr-kind" }, tile.kind)),
        el("dd", {}, el("span", { class: "onr-value" }, tile.value), el("span", { class: "onr-beside" }, tile.beside)))))
  }

  /** @param {any} proof */
  showProof(proof) {
    setAttr(this.proof, "data-state", proof.ok ? "ok" : "failed")
    this.proof.replaceChildren(
      el("strong", {}, `${proof.ok ? "✓" : "✗"} ${proof.title}`),
      el("span", { class: "onr-proof-detail" }, proof.detail))
  }
}
