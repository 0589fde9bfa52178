-- What scripts get in place of functions that would let them escape their limits, and requests and responses as they see
-- them. Runs once in each state.
--
-- exceeded(): whether the time of the running function is over. described(error): the text of an error that the server
-- raised. native: functions of the server, which know requests and responses by their numbers. DONE and WAIT mark what
-- this yields to the server; scripts cannot make such values.
local exceeded, described, native, DONE, WAIT = ...
local error, pcall, rawset, select, setmetatable, type, xpcall = error, pcall, rawset, select, setmetatable, type, xpcall
local create, resume, status, yield = coroutine.create, coroutine.resume, coroutine.status, coroutine.yield

-- An error because of the time is not caught: it goes on to the server.
local function checked(ok, ...)
  if ok then return ok, ... end
  if exceeded() then error((...), 0) end
  return ok, described((...))
end

function _G.pcall(f, ...) return checked(pcall(f, ...)) end

-- The error because of the time comes from a hook, in which no hook is called: nothing would end the handler.
function _G.xpcall(f, handler, ...)
  return checked(xpcall(f, function(problem)
    if exceeded() then return problem end
    return handler(problem)
  end, ...))
end

-- What a coroutine of the script waits for goes on to the server, and the result back to the coroutine.
local function passed(co, ok, mark, ...)
  if ok and mark == WAIT then return passed(co, resume(co, yield(WAIT, ...))) end
  return checked(ok, mark, ...)
end

function coroutine.resume(co, ...) return passed(co, resume(co, ...)) end

local function raised(ok, ...)
  if not ok then error((...), 0) end
  return ...
end

function coroutine.wrap(f)
  local co = create(f)
  return function(...) return raised(passed(co, resume(co, ...))) end
end

-- Has the server do something, and returns its result; or raises the error that it met.
local function wait(...) return raised(yield(WAIT, ...)) end

-- Header fields of what has a number: a request or a response.
local header, set_header = native.header, native.set_header
local Headers = {
  __index = function(self, name) return header(self[0], name) end,
  __newindex = function(self, name, value) set_header(self[0], name, value) end,
}

-- What requests and responses have in common.
local methods = {
  add_header = function(self, name, value) native.add_header(self[0], name, value) end,
  all_headers = function(self) return native.all_headers(self[0]) end,
  body = function(self, limit) return wait("body", self[0], limit) end,
  header_values = function(self, name) return native.header_values(self[0], name) end,
}

local function class(get, set, has_notes)
  return {
    __index = function(self, name)
      local method = methods[name]
      if method then return method end
      if name == "headers" then
        local headers = setmetatable({ [0] = self[0] }, Headers)
        rawset(self, name, headers)
        return headers
      end
      if name == "notes" and has_notes then
        local notes = {}
        rawset(self, name, notes)
        return notes
      end
      return get(self[0], name)
    end,
    __newindex = function(self, name, value) set(self[0], name, value) end,
  }
end

local Request = class(native.request_field, native.set_request_field, true)
local Response = class(native.response_field, native.set_response_field)

local hooks = {}

-- The coroutines in which functions of the script run, one after the other. If a script has more than one function, each but the
-- first gets the request as the one before had it, and the response of this number.
function hooks.runner_of_one(hook)
  return function(_, number)
    while true do
      _, number = yield(DONE, (hook(setmetatable({ [0] = number }, Request))))
    end
  end
end

function hooks.runner_of_several(request_hook, response_hook, log_hook)
  local functions = { request_hook, response_hook, log_hook }
  return function(place, number, request, answer)
    while true do
      request = request or setmetatable({ [0] = number }, Request)
      local response = answer and setmetatable({ [0] = answer }, Response)
      place, number, request, answer = yield(DONE, (functions[place](request, response)), request)
    end
  end
end

-- The header fields of a response of another server, whose lines it has at 0, are a table when a script looks at them.
local Fetched = {
  __index = function(self, name)
    if name ~= "headers" then return nil end
    local headers = native.fields(self[0])
    rawset(self, name, headers)
    return headers
  end,
}

function hooks.fetch(request) return setmetatable(wait("fetch", request), Fetched) end

function hooks.redis(...) return wait("redis", { ... }, select("#", ...)) end

function hooks.sleep(seconds) return wait("sleep", seconds) end

return hooks
