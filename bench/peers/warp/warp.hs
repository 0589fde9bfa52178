{-# LANGUAGE OverloadedStrings #-}
-- `warp ADDR [DIR]`: "Hello, World!" from memory, or the files of DIR; ADDR is 127.0.0.1:PORT or unix:/path.
module Main (main) where

import qualified Data.ByteString.Char8 as B
import Data.List (stripPrefix)
import Network.HTTP.Types (status200)
import Network.Socket
import Network.Wai
import Network.Wai.Handler.Warp
import System.Environment (getArgs)

main :: IO ()
main = withSocketsDo $ do
  address : rest <- getArgs
  socket' <- listenOn address
  runSettingsSocket settings socket' (maybe hello files (if null rest then Nothing else Just (head rest)))
 where
  -- Both caches are what mighty, the file server on Warp, switches on.
  settings = setFdCacheDuration 10 $ setFileInfoCacheDuration 10 $ setTimeout 3600 defaultSettings

-- With a stated length Warp need not send chunks.
hello :: Application
hello _ respond = respond $ responseBuilder status200 headers "Hello, World!"
 where
  headers = [("Content-Type", "text/plain"), ("Content-Length", "13")]

files :: FilePath -> Application
files directory request respond =
  respond $ responseFile status200 [("Content-Type", "text/plain")] (directory ++ B.unpack (rawPathInfo request)) Nothing

listenOn :: String -> IO Socket
listenOn address = do
  (family, to) <- case stripPrefix "unix:" address of
    Just path -> pure (AF_UNIX, SockAddrUnix path)
    Nothing -> pure (AF_INET, SockAddrInet (read (drop 1 (dropWhile (/= ':') address))) (tupleToHostAddress (127, 0, 0, 1)))
  s <- socket family Stream defaultProtocol
  if family == AF_INET then setSocketOption s ReuseAddr 1 else pure ()
  bind s to
  listen s 4096
  pure s
