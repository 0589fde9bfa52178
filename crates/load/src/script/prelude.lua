-- The part of wrk's global table that is best written in Lua: texts of requests are made here, by code that LuaJIT
-- compiles. Called once with that table, before the script; brings what the generator calls for each request.
local wrk = ...
local next, rawget, rawset, tostring, type = next, rawget, rawset, tostring, type
local lower = string.lower
local text = require("string.buffer").new(1024)

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

local function put_field(name, value)
   local kind = type(value)
   if kind ~= "string" and kind ~= "number" then
      value = tostring(value)
   end
   text:put(name, ": ", value, "\r\n")
end

function wrk.format(method, path, headers, body)
   body = body or wrk.body
   text:reset()
   text:put(method or wrk.method, " ", path or wrk.path, " HTTP/1.1\r\n")
   local has_host = false
   for name, value in next, headers or wrk.headers do
      local length = #name
      if length == 4 and lower(name) == "host" then
         has_host = true
         put_field(name, value)
      elseif length ~= 14 or lower(name) ~= "content-length" then
         put_field(name, value)
      end
   end
   local host = not has_host and wrk.headers["Host"]
   if host then
      put_field("Host", host)
   end
   if body then
      body = tostring(body)
      text:put("Content-Length: ", #body, "\r\n\r\n", body)
   else
      text:put("\r\n")
   end
   return text:tostring()
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

function hooks.response(status, headers, body)
   local response = response
   if type(response) == "function" then
      response(status, setmetatable(headers, caseless), body)
   end
end

function hooks.delay()
   local delay = delay
   return type(delay) == "function" and delay() or 0
end

return hooks
