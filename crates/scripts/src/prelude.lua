-- What scripts get in place of functions that would let them escape their limits. Runs once in each state.
--
-- exceeded(): whether the time of the running function is over. described(error): the text of an error that the server
-- raised. DONE and WAIT mark what this yields to the server; scripts cannot make such values.
local exceeded, described, DONE, WAIT = ...
local error, pcall, select, type, xpcall = error, pcall, select, type, xpcall
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

local hooks = {}

-- The coroutine in which functions of the script run, one after the other.
function hooks.runner(hook, first, second)
  while true do
    hook, first, second = yield(DONE, hook(first, second))
  end
end

-- Has the server do something, and returns its result; or raises the error that it met.
local function finished(ok, ...)
  if not ok then error((...), 0) end
  return ...
end

function hooks.wait(...) return finished(yield(WAIT, ...)) end

return hooks
