// Uses an account through the SDK's second version: node use.mjs URL KEY legacy|auto WORDS
// Over WebSocket or Streamable HTTP, as the URL says. Where the server tells of changes, it prints the line "listening",
// and waits until a tool's description holds WORDS. The last line is JSON: what it found.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { call, document, readAccount } from "./reading.mjs";
import { WebSocketTransport } from "./websocket.mjs";

const PATIENCE = 90_000; // milliseconds, for what comes within two seconds where a machine is not busy
const SLOW_SQL = "SELECT count(*) FROM rows a, rows b, rows c, rows d WHERE a.id < b.id AND c.id < d.id";
const [url, key, mode, words] = process.argv.slice(2);

let changed, failed;
const change = new Promise((resolve, reject) => ([changed, failed] = [resolve, reject]));
const client = new Client(
  { name: "use", version: "1" },
  { versionNegotiation: { mode }, listChanged: { tools: { debounceMs: 0, onChanged: look } } },
);
await client.connect(transport());
const found = {
  ...(await readAccount(client)),
  version: client.getNegotiatedProtocolVersion(),
  ...(await offered()),
  refusal: await refusal(),
  ...(await cancelled()),
  announced: client.getServerCapabilities().tools.listChanged === true,
};
if (found.announced) {
  console.log("listening");
  AbortSignal.timeout(PATIENCE).addEventListener("abort", () => failed(new Error("no change was heard")));
  await change;
}
found.subscription = client.autoOpenedSubscription?.honoredFilter;
await client.close();
console.log(JSON.stringify(found));

function transport() {
  if (url.startsWith("ws")) return new WebSocketTransport(url, key);
  return new StreamableHTTPClientTransport(new URL(url), { authProvider: { token: async () => key } });
}

function look(error, tools) {
  if (error) failed(error);
  else if (tools.some((tool) => tool.description.includes(words))) changed();
}

// Resources, prompts and completion.
async function offered() {
  const { resources } = await client.listResources();
  const { uri } = resources.find((each) => each.name === "house-manual.md");
  const { contents } = await client.readResource({ uri });
  const prompt = await client.getPrompt({ name: "audit_booking", arguments: { booking: "43000003" } });
  const ref = { type: "ref/prompt", name: "monthly_revenue" };
  const { completion } = await client.complete({ ref, argument: { name: "month", value: "2027" } });
  return {
    chunk: JSON.parse(contents[0].text).content,
    prompt: prompt.messages[0].content.text,
    months: completion.values,
  };
}

async function refusal() {
  const result = await client.callTool({ name: "list_bookings", arguments: { limit: -1 } });
  return { isError: result.isError, ...document(result).error };
}

// Two statements that take too long: the second waits for the first, is told of, and is then given up.
async function cancelled() {
  const { meta } = await call(client, "list_bookings", {});
  const slow = { name: "result_query", arguments: { handle: meta.resultHandle, sql: SLOW_SQL } };
  const given = new AbortController();
  let told;
  const first = client.callTool(slow);
  const second = client.callTool(slow, {
    signal: given.signal,
    onprogress: (progress) => {
      told ??= progress;
      given.abort(new Error("given up"));
    },
  });
  const [answered, stopped] = await Promise.allSettled([first, second]);
  const { totalCount } = (await call(client, "list_bookings", {})).meta;
  return {
    progress: told,
    slow: document(answered.value).error.reason,
    stopped: stopped.reason?.message,
    afterwards: totalCount,
  };
}
