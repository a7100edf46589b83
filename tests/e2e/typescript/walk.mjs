// Reads an account through the official client: node walk.mjs ws://host:port/mcp/ws KEY
// Prints one JSON line of what it found. The transport cannot send headers, so its WebSocket is given one that does.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";
import WebSocket from "ws";

const [url, key] = process.argv.slice(2);
globalThis.WebSocket = class extends WebSocket {
  constructor(address, protocols) {
    super(address, protocols, { headers: { Authorization: `Bearer ${key}` } });
  }
};

const client = new Client({ name: "walk", version: "1" });
await client.connect(new WebSocketClientTransport(new URL(url)));

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  if (result.content.length !== 1 || result.structuredContent) throw new Error("an answer is one text block");
  return JSON.parse(result.content[0].text);
}

async function* pages(name, args) {
  for (let cursor; ; ) {
    const answer = await call(name, cursor ? { ...args, cursor } : args);
    yield answer;
    cursor = answer.nextCursor;
    if (!cursor) return;
  }
}

const { tools } = await client.listTools();
const sizes = [], ids = [];
let largest = 0;
for await (const page of pages("list_bookings", {})) {
  sizes.push(page.items.length);
  ids.push(...page.items.map((row) => row.id));
  largest = Math.max(largest, page.meta.estimatedTokens);
}
const preview = await call("get_booking", { id: ids.at(3) });
const more = preview.meta.detailsAvailable;
const record = {};
for (const fields of Object.keys(more.sections)) {
  const { meta, ...section } = await call(more.tool, { ...more.arguments, fields });
  Object.assign(record, section);
}
const { meta, ...whole } = await call(more.tool, more.arguments);
let log = "";
for await (const chunk of pages("read_document", { id: "sync-2026-11.log" })) log += chunk.content;
await client.close();

console.log(JSON.stringify({
  tools: tools.map((tool) => tool.name),
  sizes,
  distinct: new Set(ids).size,
  largest,
  sectionsAreTheWhole: JSON.stringify(sorted(record)) === JSON.stringify(sorted(whole)),
  logBytes: Buffer.byteLength(log),
}));

function sorted(object) {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}
