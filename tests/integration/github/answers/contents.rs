//! Files and folders as they stand at a commit.

use serde_json::{Value, json};

use super::super::files::{File, Kind, Node};
use super::super::routes::Place;
use super::{encoded, node_id};

/// Where the API is, and the commit that is looked at.
pub(in crate::github) struct At<'a> {
    pub(in crate::github) place: &'a Place<'a>,
    pub(in crate::github) commit: &'a str,
}

/// What a file and an entry of a folder have in common.
fn stored(at: &At, path: &str, kind: &str, object: &str, id: &str, size: usize) -> Value {
    let encoded = encoded(path);
    let repository = at.place.repository();
    let url = format!("{repository}/contents/{encoded}?ref={}", at.commit);
    let git = format!("{repository}/git/{object}/{id}");
    let html = format!("{}/blob/{}/{encoded}", at.place.page(), at.commit);
    json!({
        "type": kind,
        "name": path.rsplit('/').next(),
        "path": path,
        "sha": id,
        "size": size,
        "url": url,
        "git_url": git,
        "html_url": html,
        "download_url": if kind == "file" { json!(format!("{}/raw/{encoded}", at.place.page())) } else { Value::Null },
        "_links": {"self": url, "git": git, "html": html},
    })
}

fn words(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::File | Kind::Executable => ("file", "blobs"),
        Kind::Link => ("symlink", "blobs"),
        Kind::Submodule => ("submodule", "trees"),
        Kind::Folder => ("dir", "trees"),
    }
}

pub(in crate::github) fn stored_file(at: &At, path: &str, file: &File) -> Value {
    let (kind, object) = words(file.kind);
    let size = file.content.len();
    let mut answer = stored(at, path, kind, object, &file.id(), size);
    match file.kind {
        Kind::Link => answer["target"] = json!(String::from_utf8_lossy(&file.content)),
        Kind::Submodule => {
            answer["submodule_git_url"] = json!("https://example.com/vendor/library.git");
        }
        _ => {
            answer["encoding"] = json!("base64");
            answer["content"] = json!(base64(&file.content));
        }
    }
    answer
}

pub(in crate::github) fn directory(at: &At, folder: &str, nodes: &[Node]) -> Value {
    let entries = nodes.iter().map(|node| {
        let (kind, object) = words(node.kind);
        let path = format!("{folder}/{}", node.name);
        let path = path.trim_start_matches('/');
        stored(at, path, kind, object, &node.id, node.size)
    });
    entries.collect()
}

pub(in crate::github) fn blob(place: &Place, file: &File) -> Value {
    let id = file.id();
    json!({
        "sha": id,
        "node_id": node_id("B", &id),
        "url": format!("{}/git/blobs/{id}", place.repository()),
        "size": file.content.len(),
        "content": base64(&file.content),
        "encoding": "base64",
    })
}

fn base64(content: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in content.chunks(3) {
        let byte = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = usize::try_from(bits >> (18 - 6 * place) & 63).unwrap();
            text.push(match place <= three.len() {
                true => char::from(LETTERS[letter]),
                false => '=',
            });
        }
    }
    text
}
