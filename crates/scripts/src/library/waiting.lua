-- Functions that wait for something outside of Lua.
local wait = ...

return {
  body = function(of, limit) return wait("body", { of, limit }) end,
  fetch = function(request) return wait("fetch", type(request) == "string" and { url = request } or request) end,
  sleep = function(seconds) return wait("sleep", seconds) end,
}
