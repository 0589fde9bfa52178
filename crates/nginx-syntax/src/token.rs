//! The words, braces and semicolons of a configuration file, as nginx reads them (`ngx_conf_read_token`).

use std::{path::Path, rc::Rc};

use super::{error::ImportError, lua, place::Place};

/// A word with its escapes resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The text.
    pub text: String,
    /// The line that it begins at.
    pub line: u32,
    /// Whether it stood in quotes.
    pub is_quoted: bool,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Argument(Argument),
    Semicolon,
    Open,
    Close,
    End,
}

/// The longest word, in bytes: nginx's own limit is its buffer of 4096 bytes, here it bounds the memory for a hostile file.
const MAX_WORD_LENGTH: usize = 64 * 1024;

/// A reader of tokens.
#[derive(Debug)]
pub(crate) struct Tokens<'text> {
    text: &'text [u8],
    at: usize,
    line: u32,
    file: Rc<Path>,
}

impl<'text> Tokens<'text> {
    pub(crate) fn new(text: &'text [u8], file: Rc<Path>) -> Self {
        Self { text, at: 0, line: 1, file }
    }

    /// The place of the next byte.
    pub(crate) fn place(&self) -> Place {
        self.place_of(self.line)
    }

    pub(crate) fn place_of(&self, line: u32) -> Place {
        Place { file: Rc::clone(&self.file), line }
    }

    fn error<T>(&self, line: u32, message: impl Into<String>) -> Result<T, ImportError> {
        Err(ImportError::new(&self.place_of(line), message))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn advance(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += u32::from(byte == b'\n');
        Some(byte)
    }

    /// The next token.
    pub(crate) fn next(&mut self) -> Result<Token, ImportError> {
        self.skip_blanks();
        let line = self.line;
        let Some(byte) = self.peek() else { return Ok(Token::End) };
        match byte {
            b';' => self.single(Token::Semicolon),
            b'{' => self.single(Token::Open),
            b'}' => self.single(Token::Close),
            b'"' | b'\'' => {
                self.advance();
                self.quoted(byte, line)
            }
            _ => self.bare(line),
        }
    }

    fn single(&mut self, token: Token) -> Result<Token, ImportError> {
        self.advance();
        Ok(token)
    }

    /// White space, and comments where a token could begin: within a word, `#` is a letter.
    fn skip_blanks(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {
                    self.advance();
                }
                b'#' => while self.advance().is_some_and(|byte| byte != b'\n') {},
                _ => return,
            }
        }
    }

    fn quoted(&mut self, quote: u8, line: u32) -> Result<Token, ImportError> {
        let start = self.at;
        loop {
            match self.advance() {
                None => return self.error(line, "the quotes that begin here are not closed"),
                Some(b'\\') => {
                    self.advance();
                }
                Some(byte) if byte == quote => break,
                Some(_) => {}
            }
        }
        let text = &self.text[start..self.at - 1];
        // A parenthesis may follow, as in `if ($a = "b")`.
        if !matches!(self.peek(), None | Some(b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' | b')')) {
            return self.error(self.line, "white space, a semicolon or a brace has to follow the closing quote");
        }
        self.word(text, line, true)
    }

    fn bare(&mut self, line: u32) -> Result<Token, ImportError> {
        let start = self.at;
        let mut follows_dollar = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'{' if follows_dollar => {}
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' => break,
                b'\\' => {
                    self.advance();
                    if self.peek().is_none() {
                        return self.error(line, "a backslash ends the file");
                    }
                }
                _ => {}
            }
            follows_dollar = byte == b'$';
            self.advance();
        }
        self.word(&self.text[start..self.at], line, false)
    }

    fn word(&self, escaped: &[u8], line: u32, is_quoted: bool) -> Result<Token, ImportError> {
        if escaped.len() > MAX_WORD_LENGTH {
            return self.error(line, format!("this word is longer than {MAX_WORD_LENGTH} bytes: is a quote missing?"));
        }
        match String::from_utf8(unescaped(escaped)) {
            Ok(text) if text.contains('\0') => self.error(line, "this is not a text: it contains a byte 0"),
            Ok(text) => Ok(Token::Argument(Argument { text, line, is_quoted })),
            Err(_) => self.error(line, "this is not UTF-8: convert the file, as in iconv -f latin1 -t utf-8"),
        }
    }

    /// The text of a block of Lua, whose opening brace has been read, up to its closing brace.
    pub(crate) fn lua_block(&mut self) -> Result<(), ImportError> {
        let line = self.line;
        match lua::block_length(&self.text[self.at..]) {
            Some(length) => {
                for _ in 0..length {
                    self.advance();
                }
                Ok(())
            }
            None => self.error(line, "the block of Lua that begins here is not closed"),
        }
    }
}

/// A word without its escapes: `\"`, `\'`, `\\`, `\t`, `\r` and `\n`. Other backslashes stay, as in expressions.
fn unescaped(escaped: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let [byte, behind @ ..] = rest {
        let (plain, left) = match (byte, behind) {
            (b'\\', [quoted @ (b'"' | b'\'' | b'\\'), left @ ..]) => (*quoted, left),
            (b'\\', [b't', left @ ..]) => (b'\t', left),
            (b'\\', [b'r', left @ ..]) => (b'\r', left),
            (b'\\', [b'n', left @ ..]) => (b'\n', left),
            _ => (*byte, behind),
        };
        text.push(plain);
        rest = left;
    }
    text
}
