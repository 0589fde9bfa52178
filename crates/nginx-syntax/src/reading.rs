//! A configuration file, with those that it includes, as a tree of directives.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
};

use super::{
    directive::Directive,
    error::ImportError,
    place::Place,
    token::{Argument, Token, Tokens},
};

/// The files that a configuration consists of.
pub trait Files {
    /// The contents of a file.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be read, as a sentence without the name of the file.
    fn read(&self, path: &Path) -> Result<Vec<u8>, String>;

    /// The files that a pattern with `*`, `?` and `[…]` names, sorted by their names as bytes.
    ///
    /// # Errors
    ///
    /// The reason why a folder cannot be read.
    fn matching(&self, pattern: &Path) -> Result<Vec<PathBuf>, String>;
}

/// All files together, in bytes. An nginx.conf of 10,000 servers has some 5 MB; this answers a file that is none.
pub(super) const MAX_BYTES: usize = 64 * 1024 * 1024;
/// How deep files may include others, and blocks may contain others: it bounds the stack that reading takes.
const DEEPEST: usize = 64;

/// A tree that is being read.
#[derive(Debug)]
struct Reading<'files, F: Files + ?Sized> {
    files: &'files F,
    /// The folder that relative names of files start at.
    prefix: PathBuf,
    /// The files around the current one, the first of which is the main file.
    around: Vec<PathBuf>,
    bytes: usize,
    directives: usize,
}

/// All directives of a configuration, with those of included files in the place of `include`, and their number.
///
/// Relative names of included files start at `prefix`; nginx takes the folder of the main file.
///
/// # Errors
///
/// The first error of syntax, and the first file that cannot be read.
pub fn read(main: &Path, prefix: &Path, files: &(impl Files + ?Sized)) -> Result<(Vec<Directive>, usize), ImportError> {
    let mut reading = Reading { files, prefix: prefix.to_owned(), around: Vec::new(), bytes: 0, directives: 0 };
    let from = Place { file: Rc::from(main), line: 1 };
    let directives = reading.file(main, &from, 0)?;
    Ok((directives, reading.directives))
}

impl<F: Files + ?Sized> Reading<'_, F> {
    fn file(&mut self, path: &Path, from: &Place, depth: usize) -> Result<Vec<Directive>, ImportError> {
        let error = |message: String| Err(ImportError::new(from, message));
        if self.around.iter().any(|around| around == path) {
            return error(format!("{} includes itself", path.display()));
        }
        if self.around.len() >= DEEPEST {
            return error(format!("files include each other {DEEPEST} deep"));
        }
        let text = match self.files.read(path) {
            Ok(text) => text,
            Err(why) => return error(format!("cannot read {}: {why}", path.display())),
        };
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > MAX_BYTES {
            return error(format!("with {}, the files have more than {MAX_BYTES} bytes", path.display()));
        }
        self.around.push(path.to_owned());
        let mut tokens = Tokens::new(&text, Rc::from(path));
        let directives = self.block(&mut tokens, None, depth)?;
        self.around.pop();
        Ok(directives)
    }

    /// The directives up to the closing brace, or to the end of the file if there is no opening one.
    fn block(
        &mut self,
        tokens: &mut Tokens<'_>,
        opening: Option<&Directive>,
        depth: usize,
    ) -> Result<Vec<Directive>, ImportError> {
        let mut directives = Vec::new();
        if depth > DEEPEST {
            return Err(ImportError::new(&tokens.place(), format!("blocks are more than {DEEPEST} deep")));
        }
        loop {
            let name = match (tokens.next()?, opening) {
                (Token::Argument(name), _) => name,
                (Token::Close, Some(_)) | (Token::End, None) => return Ok(directives),
                (Token::Close, None) => {
                    return Err(ImportError::new(&tokens.place(), "this brace closes no block"));
                }
                (Token::End, Some(opening)) => {
                    let message = format!("the block of `{}` that begins here is not closed", opening.name());
                    return Err(ImportError::new(&opening.place, message));
                }
                (Token::Semicolon | Token::Open, _) => {
                    return Err(ImportError::new(&tokens.place(), "the name of a directive is missing here"));
                }
            };
            self.directive(name, tokens, depth, &mut directives)?;
        }
    }

    fn directive(
        &mut self,
        name: Argument,
        tokens: &mut Tokens<'_>,
        depth: usize,
        directives: &mut Vec<Directive>,
    ) -> Result<(), ImportError> {
        let place = tokens.place_of(name.line);
        let mut directive = Directive { name, words: Vec::new(), block: None, place, number: self.directives };
        self.directives += 1;
        loop {
            match tokens.next()? {
                Token::Argument(word) => directive.words.push(word),
                Token::Semicolon => break,
                Token::Open if directive.name().ends_with("_by_lua_block") => {
                    tokens.lua_block()?;
                    directive.block = Some(Vec::new());
                    break;
                }
                Token::Open => {
                    let block = self.block(tokens, Some(&directive), depth + 1)?;
                    directive.block = Some(block);
                    break;
                }
                Token::Close => return Err(unfinished(&directive, "has no semicolon at its end")),
                Token::End => return Err(unfinished(&directive, "has neither a semicolon nor a block at its end")),
            }
        }
        match (directive.name(), directive.words.as_slice(), &directive.block) {
            ("include", [pattern], None) => self.include(&pattern.text, &directive.place, depth, directives),
            _ => {
                directives.push(directive);
                Ok(())
            }
        }
    }

    fn include(
        &mut self,
        pattern: &str,
        place: &Place,
        depth: usize,
        directives: &mut Vec<Directive>,
    ) -> Result<(), ImportError> {
        let path = self.prefix.join(pattern);
        let found = if pattern.contains(['*', '?', '[']) {
            self.files.matching(&path).map_err(|why| ImportError::new(place, why))?
        } else {
            vec![path]
        };
        for path in found {
            directives.extend(self.file(&path, place, depth)?);
        }
        Ok(())
    }
}

fn unfinished(directive: &Directive, why: &str) -> ImportError {
    ImportError::new(&directive.place, format!("`{}` {why}", directive.name()))
}
