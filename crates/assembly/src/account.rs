//! The user and the groups that a server becomes, looked up in /etc/passwd and /etc/group.

use std::{fs, io};

use serow_config::{SettingError, checks, values::AccountName};

/// A user and groups, as the system counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user.
    pub user: u32,
    /// Its groups, of which the first is that of files it makes.
    pub groups: Vec<u32>,
}

/// The files where the system lists users and groups.
pub(crate) struct AccountFiles {
    users: String,
    groups: String,
}

impl AccountFiles {
    /// Those of this system.
    pub(crate) fn of_system() -> io::Result<Self> {
        let read = |path| match fs::read(path) {
            // A container may have neither, and numbers need none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            file => file.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        };
        Ok(Self { users: read("/etc/passwd")?, groups: read("/etc/group")? })
    }

    /// Looks up what is written; nothing where nothing is.
    pub(crate) fn find(
        &self,
        user: Option<&AccountName>,
        group: Option<&AccountName>,
    ) -> Result<Option<Account>, SettingError> {
        checks::account(user, group)?;
        let Some(user) = user else { return Ok(None) };
        let group = group.map(|group| self.group(group)).transpose()?;
        let user = self.user(user)?;
        let Some(first) = group.or(user.group) else {
            let text =
                format!("user {} is not in /etc/passwd, so its group is unknown: name one with `group`", user.id);
            return Err(SettingError::new("user", text));
        };
        let others = self.groups_of(user.name).into_iter().filter(|group| *group != first);
        Ok(Some(Account { user: user.id, groups: std::iter::once(first).chain(others).collect() }))
    }

    fn user(&self, account: &AccountName) -> Result<User<'_>, SettingError> {
        // passwd(5)
        let users = records(&self.users).filter_map(|fields| match fields[..] {
            [name, _, id, group, ..] => Some((name, id.parse::<u32>().ok()?, group.parse().ok())),
            _ => None,
        });
        let mut users = users.map(|(name, id, group)| User { name, id, group });
        match account {
            AccountName::Number(id) => {
                Ok(users.find(|user| user.id == *id).unwrap_or(User { name: "", id: *id, group: None }))
            }
            AccountName::Name(name) => users.find(|user| user.name == name).ok_or_else(|| {
                let text = "in /etc/passwd: create it, or write another one or its number";
                SettingError::new("user", format!("there is no user {name:?} {text}"))
            }),
        }
    }

    fn group(&self, account: &AccountName) -> Result<u32, SettingError> {
        let name = match account {
            AccountName::Number(id) => return Ok(*id),
            AccountName::Name(name) => name,
        };
        self.groups().find(|(group, ..)| group == name).map(|(_, id, _)| id).ok_or_else(|| {
            let text = "in /etc/group: create it, or write another one or its number";
            SettingError::new("group", format!("there is no group {name:?} {text}"))
        })
    }

    fn groups_of(&self, user: &str) -> Vec<u32> {
        let is_member = |members: &str| members.split(',').any(|member| member == user && !user.is_empty());
        self.groups().filter(|(.., members)| is_member(members)).map(|(_, id, _)| id).collect()
    }

    /// Name, number and members of each.
    fn groups(&self) -> impl Iterator<Item = (&str, u32, &str)> {
        // group(5)
        records(&self.groups).filter_map(|fields| match fields[..] {
            [name, _, id, members, ..] => Some((name, id.parse().ok()?, members)),
            _ => None,
        })
    }
}

struct User<'f> {
    name: &'f str,
    id: u32,
    group: Option<u32>,
}

fn records(file: &str) -> impl Iterator<Item = Vec<&str>> {
    file.lines().map(|line| line.split(':').collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> AccountFiles {
        let users = "root:x:0:0:root:/root:/bin/bash\n# broken\nwww:x:33:34::/var/www:/bin/false\nodd:x:7::\n";
        let groups = "root:x:0:\nwww:x:34:\nmedia:x:44:ann,www\nssl:x:45:www\nwww-too:x:34:www\n";
        AccountFiles { users: users.to_owned(), groups: groups.to_owned() }
    }

    #[test]
    fn accounts_are_found() {
        let account = |user, groups: &[u32]| Some(Account { user, groups: groups.to_vec() });
        let cases = [
            (None, None, None),
            (Some("www"), None, account(33, &[34, 44, 45])),
            (Some("33"), None, account(33, &[34, 44, 45])),
            (Some("www"), Some("media"), account(33, &[44, 45, 34])),
            (Some("4711"), Some("44"), account(4711, &[44])),
            (Some("odd"), Some("root"), account(7, &[0])),
        ];
        for (user, group, expected) in cases {
            let [user, group] = [user, group].map(|name| name.map(|name| name.parse::<AccountName>().unwrap()));
            assert_eq!(files().find(user.as_ref(), group.as_ref()), Ok(expected), "{user:?} {group:?}");
        }
    }

    #[test]
    fn unknown_users_and_groups_are_named() {
        let cases = [
            (Some("nobody"), None, "user", r#"there is no user "nobody" in /etc/passwd"#),
            (Some("www"), Some("none"), "group", r#"there is no group "none" in /etc/group"#),
            (Some("4711"), None, "user", "user 4711 is not in /etc/passwd, so its group is unknown"),
            (Some("odd"), None, "user", "user 7 is not in"),
            (Some(""), None, "user", r#"there is no user """#),
            (None, Some("ssl"), "group", "`group` needs `user`"),
            (Some("99999999999"), None, "user", r#"there is no user "99999999999""#),
        ];
        for (user, group, key, expected) in cases {
            let [user, group] = [user, group].map(|name| name.map(|name| name.parse::<AccountName>().unwrap()));
            let error = files().find(user.as_ref(), group.as_ref()).unwrap_err();
            assert_eq!(error.key, key);
            assert!(error.text.starts_with(expected), "{}", error.text);
        }
    }
}
