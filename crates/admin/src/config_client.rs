//! Added settings files of a running server: those methods of the client.

use serde_json::Value;
use serow::StatusCode;
use serow_config::AddedFileName;

use super::{
    added_settings::Precondition,
    admin_request::AdminRequest,
    client::{AdminClient, AdminResponse},
    client_error::{AdminClientError, Reason},
    table,
};

/// An added settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedFile {
    /// Its text, in TOML.
    pub text: String,
    /// Its version.
    pub etag: String,
}

/// An added settings file in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Its name.
    pub name: AddedFileName,
    /// Its version.
    pub etag: String,
    /// The length of its text.
    pub bytes: u64,
}

/// The outcome of adding or replacing a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Whether there was no file of this name before.
    pub is_new: bool,
    /// Its version.
    pub etag: Option<String>,
    /// A line about how the settings took effect.
    pub message: String,
}

impl AdminClient {
    /// The added settings files, in JSON.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or its server takes no added files.
    pub fn added_files(&self) -> Result<String, AdminClientError> {
        let response = self.respond(&AdminRequest::ListFiles)?;
        match response.status {
            StatusCode::OK => Ok(response.body),
            StatusCode::NOT_FOUND => Err(self.error(Reason::NoAddedFiles)),
            _ => Err(self.refused(response)),
        }
    }

    /// The names, versions and lengths of the added settings files, sorted by name.
    ///
    /// # Errors
    ///
    /// As [`Self::added_files`], or the answer is not a list.
    pub fn added_file_list(&self) -> Result<Vec<ListedFile>, AdminClientError> {
        let list: Option<Value> = serde_json::from_str(&self.added_files()?).ok();
        let read = |file: &Value| {
            let name = file["name"].as_str()?.parse().ok()?;
            Some(ListedFile { name, etag: file["etag"].as_str()?.to_owned(), bytes: file["bytes"].as_u64()? })
        };
        let files = list.as_ref().and_then(|list| list["files"].as_array());
        let files = files.and_then(|files| files.iter().map(read).collect::<Option<_>>());
        files.ok_or_else(|| self.error(Reason::NotOurs))
    }

    /// The names and lengths of the added settings files, as a table for people.
    ///
    /// # Errors
    ///
    /// As [`Self::added_file_list`].
    pub fn added_file_table(&self) -> Result<String, AdminClientError> {
        let files = self.added_file_list()?;
        if files.is_empty() {
            return Ok("the server has no added files\n".to_owned());
        }
        let mut rows = vec![["name", "bytes"].map(str::to_owned)];
        rows.extend(files.iter().map(|file| [file.name.to_string(), file.bytes.to_string()]));
        Ok(table::lines(&rows, 1).concat())
    }

    /// An added settings file; `None` if there is none of this name.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or its server takes no added files.
    pub fn added_file(&self, name: &AddedFileName) -> Result<Option<AddedFile>, AdminClientError> {
        let response = self.respond(&AdminRequest::GetFile(name.clone()))?;
        match (response.status, response.etag) {
            (StatusCode::OK, Some(etag)) => Ok(Some(AddedFile { text: response.body, etag })),
            (StatusCode::OK, None) => Err(self.error(Reason::NotOurs)),
            // A server that takes no added files answers the same, except to this.
            (StatusCode::NOT_FOUND, _) => self.added_files().map(|_| None),
            (_, etag) => Err(self.refused(AdminResponse { etag, ..response })),
        }
    }

    /// Adds a settings file, or replaces it; waits until the settings are in effect.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, there is another version than the precondition says
    /// ([`AdminClientError::is_conflict`]), or the settings are wrong; the reason may have several lines.
    pub fn put_added_file(
        &self,
        name: &AddedFileName,
        text: String,
        precondition: Precondition,
    ) -> Result<StoredFile, AdminClientError> {
        let response = self.respond(&AdminRequest::PutFile { name: name.clone(), text, precondition })?;
        match response.status {
            StatusCode::OK | StatusCode::CREATED => {
                let is_new = response.status == StatusCode::CREATED;
                Ok(StoredFile { is_new, etag: response.etag, message: response.body })
            }
            StatusCode::NOT_FOUND => Err(self.error(Reason::NoAddedFiles)),
            _ => Err(self.refused(response)),
        }
    }

    /// Removes an added settings file; waits until the settings are in effect, and returns a line about it.
    ///
    /// # Errors
    ///
    /// As [`Self::put_added_file`], or there is no such file.
    pub fn delete_added_file(
        &self,
        name: &AddedFileName,
        precondition: Precondition,
    ) -> Result<String, AdminClientError> {
        let response = self.respond(&AdminRequest::DeleteFile { name: name.clone(), precondition })?;
        match response.status {
            StatusCode::OK => Ok(response.body),
            StatusCode::NOT_FOUND => Err(self.no_added_file(name)),
            _ => Err(self.refused(response)),
        }
    }

    /// The error that there is no added file of this name, with the names that there are.
    #[must_use]
    pub fn no_added_file(&self, name: &AddedFileName) -> AdminClientError {
        match self.added_file_list() {
            Ok(files) => {
                let known = files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ");
                self.error(Reason::NoAddedFile { name: name.to_string(), known })
            }
            Err(error) => error,
        }
    }

    fn refused(&self, response: AdminResponse) -> AdminClientError {
        let AdminResponse { status, body, .. } = response;
        self.error(match status {
            StatusCode::PRECONDITION_FAILED => Reason::Conflict(body),
            _ => Reason::Refused(status, body),
        })
    }
}
