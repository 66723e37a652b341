// A client on the TypeScript SDK: lists the tools, calls two, and prints what came back.
// Arguments: `stdio COMMAND ARGUMENT...`, or `http URL CALL_TOKEN APPROVAL_TOKEN`.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [kind, ...rest] = process.argv.slice(2);
const transport =
  kind === "stdio"
    ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env })
    : new StreamableHTTPClientTransport(new URL(rest[0]), {
        requestInit: {
          headers: { Authorization: `Bearer ${rest[1]}`, "Handrail-Approval": rest[2] },
        },
      });

const client = new Client(
  { name: "typescript", version: "0" },
  { capabilities: { elicitation: { form: {} } } },
);
let asked = null;
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked = request.params.requestedSchema.properties.answer.enum;
  await new Promise((resolve) => setTimeout(resolve, 400));
  return { action: "accept", content: { answer: "yes" } };
});

await client.connect(transport);
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const read = await client.callTool({ name: "read_file", arguments: { path: "a.txt" } });
const written = await client.callTool({
  name: "write_file",
  arguments: { path: "b.txt", content: "x\n" },
});
await client.close();
console.log(
  JSON.stringify({
    tools,
    text: read.content[0].text,
    data: read.structuredContent,
    asked,
    written: written.isError ?? false,
  }),
);
