"""The MCP door: what the commands do, as tools of a server that a coding agent starts (`honestone
mcp`).

`tools` knows nothing of the protocol: arguments in, a document out. `server` speaks it, by the
official SDK, which only this package imports.
"""
