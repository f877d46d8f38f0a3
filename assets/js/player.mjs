// @ts-check
/** The offline page: the same stage over payloads that lie in the page itself; nothing is sent. */
import { mountNewRow } from "./newrow.mjs"
import { storePut } from "./store.mjs"

/**
 * The payload element holds `{"view": {...}, "payloads": {key: payload}}`.
 * @param {Document} page
 */
export function startPlayer(page) {
  const source = page.getElementById("onr-payload")
  const parentElement = page.getElementById("onr-player")
  if (!source || !parentElement) return
  const { view, payloads } = JSON.parse(source.textContent ?? "")
  for (const [key, payload] of Object.entries(payloads)) storePut(page, key, payload)
  mountNewRow({ parentElement, data: view })
}
if (typeof document !== "undefined") startPlayer(document)
