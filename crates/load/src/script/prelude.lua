-- The part of wrk's global table that is best written in Lua: texts of requests are made here, by code that LuaJIT
-- compiles. Called once with that table, before the script; brings what the generator calls for each request.
local wrk = ...
local next, rawget, rawset, tostring, type = next, rawget, rawset, tostring, type
local error, getmetatable, setmetatable = error, getmetatable, setmetatable
local len, lower = string.len, string.lower
local new_table = require("table.new")
local text = require("string.buffer").new(1024)
local put, reset, made = text.put, text.reset, text.tostring

-- How the name of a field is written in a table, if it is there in any spelling.
local function spelling(fields, name)
   if type(name) ~= "string" then
      return nil
   end
   local wanted = lower(name)
   for known in next, fields do
      if type(known) == "string" and #known == #name and lower(known) == wanted then
         return known
      end
   end
end

-- Fields keep the spelling they were given first, and are found in any.
local caseless = {
   __index = function(fields, name)
      local known = spelling(fields, name)
      return known and rawget(fields, known)
   end,
   __newindex = function(fields, name, value)
      rawset(fields, spelling(fields, name) or name, value)
   end,
}

setmetatable(wrk.headers, caseless)

-- Objects count as text if they say how; other values are an error, whose line the caller is told.
local function checked(value, what)
   local kind = type(value)
   if kind == "string" or kind == "number" then
      return value
   end
   local meta = getmetatable(value)
   if kind == "boolean" or type(meta) == "table" and meta.__tostring then
      return tostring(value)
   end
   error(what .. " must be text, not a " .. kind .. " value", 3)
end

function wrk.format(method, path, headers, body)
   reset(text)
   put(text, checked(method or wrk.method, "the method"), " ", checked(path or wrk.path, "the path"), " HTTP/1.1\r\n")
   local has_host = false
   headers = headers or wrk.headers
   if type(headers) ~= "table" then
      error("headers must be a table, not a " .. type(headers) .. " value", 2)
   end
   for name, value in next, headers do
      name = checked(name, "the name of a field")
      local length = len(name)
      if length == 4 and lower(name) == "host" then
         has_host = true
      elseif length == 14 and lower(name) == "content-length" then
         value = nil
      end
      if value ~= nil then
         put(text, name, ": ", checked(value, name), "\r\n")
      end
   end
   local host = not has_host and wrk.headers["Host"]
   if host then
      put(text, "Host: ", host, "\r\n")
   end
   body = body or wrk.body
   if body then
      body = checked(body, "the body")
      put(text, "Content-Length: ", len(body), "\r\n\r\n", body)
   else
      put(text, "\r\n")
   end
   return made(text)
end

function wrk.setup(thread)
   if type(setup) == "function" then
      setup(thread)
   end
end

function wrk.init(arguments)
   if not wrk.headers["Host"] then
      local host = wrk.host:find(":", 1, true) and "[" .. wrk.host .. "]" or wrk.host
      wrk.headers["Host"] = wrk.port and host .. ":" .. wrk.port or host
   end
   if type(init) == "function" then
      init(arguments)
   end
   local unchanging = wrk.format()
   wrk.request = function()
      return unchanging
   end
end

-- Globals are looked up at each call, since scripts put other functions there while they run.
local hooks = {}

function hooks.request()
   local request = request
   if type(request) == "function" then
      return request()
   end
   return wrk.request()
end

function hooks.response(status, body, fields, count)
   local response = response
   if type(response) == "function" then
      -- A copy, since scripts may keep or change it.
      local headers = new_table(0, count)
      for name, value in next, fields do
         headers[name] = value
      end
      response(status, setmetatable(headers, caseless), body)
   end
end

function hooks.delay()
   local delay = delay
   return type(delay) == "function" and delay() or 0
end

package.preload.ffi = function()
   error("scripts cannot use ffi here, since nothing would be safe from it", 3)
end

return hooks
