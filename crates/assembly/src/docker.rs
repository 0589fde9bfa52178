//! The containers that become routes.

use serow_config::{
    label_keys,
    tables::{
        docker::{DockerSettings, DockerTable, LabelChoice},
        sites::SiteTable,
    },
};
use serow_containers::{AllowedKeys, ApiAddress, ContainerSettings, HostPattern, LabelKinds};
use serow_document::{Problem, Problems};

/// Where containers are found, and how they become routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Docker {
    /// The API.
    pub address: ApiAddress,
    /// The rules.
    pub settings: ContainerSettings,
}

/// The hosts of these sites.
pub(crate) fn hosts(sites: &[SiteTable]) -> impl Iterator<Item = String> {
    sites.iter().flat_map(|site| site.settings.hosts.iter().flatten()).cloned()
}

/// The meaning of a table; nothing where it means nothing, which is noted.
pub(crate) fn of(table: DockerTable, problems: &Problems) -> Option<Docker> {
    let DockerTable { settings, place } = table;
    let DockerSettings { socket, network, exposed_by_default, labels, allowed_keys, hosts, certificates, keep } =
        settings;
    let note = |key: &str, text: String| problems.add(Problem::of_value(place.key(key), text));
    let address = socket.parse::<ApiAddress>().map_err(|text| note("socket", text)).ok();
    let kinds =
        LabelKinds { serow: labels.contains(&LabelChoice::Serow), traefik: labels.contains(&LabelChoice::Traefik) };
    if labels.is_empty() {
        note("labels", "write serow, traefik or both: without labels, no container becomes a route".to_owned());
    }
    let mut allowed = AllowedKeys::default();
    for (number, key) in allowed_keys.into_iter().enumerate() {
        // Only where there are some: the keys that there can be are made of the schema.
        let known = label_keys();
        if known.route.contains(&key) {
            allowed.route.insert(key);
        } else if known.upstream.contains(&key) {
            allowed.upstream.insert(key);
        } else {
            let text = format!("{key:?} is not a key that labels can set: name one of [[site.route]] or [[upstream]]");
            problems.add(Problem::of_value(place.key("allowed-keys").element(number), text));
        }
    }
    let mut patterns = Vec::new();
    for (number, host) in hosts.iter().enumerate() {
        match HostPattern::new(host) {
            Some(pattern) => patterns.push(pattern),
            None => {
                let text = format!("{host:?} is not a host: write one such as shop.example, or *.apps.example");
                problems.add(Problem::of_value(place.key("hosts").element(number), text));
            }
        }
    }
    let settings = ContainerSettings {
        network,
        exposed_by_default,
        labels: kinds,
        allowed,
        hosts: patterns,
        certificates: certificates.in_memory(),
        keep: keep.0,
    };
    Some(Docker { address: address?, settings })
}

#[cfg(test)]
mod tests {
    use serow_config::CONTAINER_PREFIX;

    #[test]
    fn files_of_containers_have_the_names_that_are_kept_for_them() {
        assert_eq!(serow_containers::FILE_PREFIX, CONTAINER_PREFIX);
    }
}
