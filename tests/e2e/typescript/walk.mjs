// Reads an account through the SDK's first version: node walk.mjs ws://host:port/mcp/ws KEY
// Prints one JSON line of what it found. The transport cannot send headers, so its WebSocket is given one that does.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";
import WebSocket from "ws";
import { readAccount } from "./reading.mjs";

const [url, key] = process.argv.slice(2);
globalThis.WebSocket = class extends WebSocket {
  constructor(address, protocols) {
    super(address, protocols, { headers: { Authorization: `Bearer ${key}` } });
  }
};

const client = new Client({ name: "walk", version: "1" });
await client.connect(new WebSocketClientTransport(new URL(url)));
const found = await readAccount(client);
await client.close();
console.log(JSON.stringify(found));
