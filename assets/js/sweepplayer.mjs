// @ts-check
/** The offline page of the sweep: the same stage over a payload that lies in the page. */
import { storePut } from "./store.mjs"
import { mountSweep } from "./sweep.mjs"

/** The payload element holds `{"view": {...}, "payloads": {key: payload}}`. @param {Document} page */
export function startSweepPlayer(page) {
  const source = page.getElementById("onr-payload")
  const parentElement = page.getElementById("onr-player")
  if (!source || !parentElement) return
  const { view, payloads } = JSON.parse(source.textContent ?? "")
  for (const [key, payload] of Object.entries(payloads)) storePut(page, key, payload)
  mountSweep({ parentElement, data: view })
}
if (typeof document !== "undefined") startSweepPlayer(document)
