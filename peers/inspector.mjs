// The Inspector's command line: one method against one server, its JSON result on stdout.
//
// Usage: node inspector.mjs URL TOKEN --method tools/list [more of the Inspector's options]
// TOKEN may be "-" for none. It reads its own package file relative to the working directory, hence the chdir.

import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [url, token, ...options] = process.argv.slice(2);
const entry = path.join(path.dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/inspector-cli")), "index.js");
const header = token === "-" ? [] : ["--header", `Authorization: Bearer ${token}`];

process.chdir(path.dirname(entry));
process.argv = [process.argv[0], entry, url, "--transport", "http", ...options, ...header];
await import(pathToFileURL(entry));
