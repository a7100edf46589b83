// The SDK's second version has no WebSocket transport. This is one: a text frame holds one JSON-RPC message.
import WebSocket from "ws";

export class WebSocketTransport {
  constructor(url, key) {
    this.url = url;
    this.headers = { Authorization: `Bearer ${key}` };
  }

  start() {
    this.socket = new WebSocket(this.url, "mcp", { headers: this.headers });
    this.socket.on("message", (frame) => this.onmessage?.(JSON.parse(frame)));
    this.socket.on("error", (error) => this.onerror?.(error));
    this.socket.on("close", () => this.onclose?.());
    return new Promise((resolve, reject) => this.socket.once("open", resolve).once("error", reject));
  }

  send(message) {
    return new Promise((resolve, reject) =>
      this.socket.send(JSON.stringify(message), (error) => (error ? reject(error) : resolve())),
    );
  }

  async close() {
    this.socket.close();
  }
}
