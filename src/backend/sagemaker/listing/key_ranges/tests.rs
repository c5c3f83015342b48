use std::collections::BTreeMap;

use aws_sdk_s3::types::{CommonPrefix, Object};
use proptest::prelude::*;

use super::*;
use crate::aws::s3_uri::S3Uri;
use crate::spec::InputMode;

/// A bucket that answers as S3 does.
struct Store {
    objects: BTreeMap<String, u64>,
    page: usize,
    /// Whether a folder is shown whose own name is not after the key that a look begins after, but keys of it are. AWS does not
    /// say what S3 does.
    shows_begun_folders: bool,
}

impl Store {
    fn of(keys: impl IntoIterator<Item = String>, page: usize) -> Self {
        let sizes = keys.into_iter().zip(1..);
        Self {
            objects: sizes.collect(),
            page,
            shows_begun_folders: false,
        }
    }

    fn answer(&self, prefix: &str, ask: &Ask) -> ListObjectsV2Output {
        match ask {
            Ask::Page { after, token, .. } => {
                self.list(prefix, token.as_deref().or(after.as_deref()), false)
            }
            Ask::Folders { folder, after } => self.list(folder, Some(after.as_str()), true),
        }
    }

    /// The token of a page is its last key.
    fn list(&self, prefix: &str, after: Option<&str>, in_folders: bool) -> ListObjectsV2Output {
        let after = after.unwrap_or_default();
        let (mut keys, mut folders) = (Vec::new(), Vec::<String>::new());
        let mut last = None;
        let mut is_truncated = false;
        for (key, size) in &self.objects {
            if !key.starts_with(prefix) || key.as_str() <= after {
                continue;
            }
            let folder = key[prefix.len()..].split_once('/').filter(|_| in_folders);
            let folder = folder.map(|(name, _)| format!("{prefix}{name}/"));
            if folder.is_some() && folder.as_ref() == folders.last() {
                continue;
            }
            if let Some(folder) = &folder
                && folder.as_str() <= after
                && !self.shows_begun_folders
            {
                continue;
            }
            if keys.len() + folders.len() == self.page {
                is_truncated = true;
                break;
            }
            last = Some(key.clone());
            match folder {
                Some(folder) => folders.push(folder),
                None => {
                    let size = i64::try_from(*size).unwrap();
                    let object = Object::builder().key(key).size(size);
                    keys.push(object.e_tag(format!("\"{size:032x}\"")).build());
                }
            }
        }
        let folders = folders.into_iter();
        let folders = folders.map(|folder| CommonPrefix::builder().prefix(folder).build());
        ListObjectsV2Output::builder()
            .set_contents(Some(keys))
            .set_common_prefixes(Some(folders.collect()))
            .is_truncated(is_truncated)
            .set_next_continuation_token(last.filter(|_| is_truncated))
            .build()
    }

    /// What is found where the keys come one after the other.
    fn in_order(&self, uri: &S3Uri) -> Result<ListedChannel, BackendError> {
        let mut keys = KeysInOrder::of(uri, "f", InputMode::File, None);
        let objects = self.objects.iter();
        for (key, size) in objects.filter(|(key, _)| key.starts_with(&uri.key)) {
            keys.object(key, Bytes(*size), &format!("\"{size:032x}\""))?;
        }
        keys.finish()
    }
}

/// What a listing found, the round trips it took and the requests it sent.
struct Listing {
    found: Result<ListedChannel, BackendError>,
    trips: usize,
    requests: usize,
}

/// Answers in an order that `pick` chooses: of so many requests that are under way, which is answered next. Where it chooses
/// none, all are, one trip after the other.
fn run(store: &Store, uri: &S3Uri, mut pick: impl FnMut(usize) -> Option<usize>) -> Listing {
    let keys = KeysInOrder::of(uri, "f", InputMode::File, None);
    let mut ranges = KeyRanges::of(keys);
    let mut under_way: Vec<Ask> = Vec::new();
    let (mut trips, mut requests) = (0, 0);
    loop {
        while let Some(ask) = ranges.next() {
            under_way.push(ask);
            requests += 1;
        }
        assert!(under_way.len() <= MOST_AT_ONCE);
        if under_way.is_empty() {
            let found = ranges.finish();
            return Listing {
                found,
                trips,
                requests,
            };
        }
        trips += 1;
        let answered = match pick(under_way.len()) {
            Some(next) => vec![under_way.swap_remove(next)],
            None => std::mem::take(&mut under_way),
        };
        for ask in answered {
            let answer = store.answer(&uri.key, &ask);
            if let Err(error) = ranges.take(&ask, &answer) {
                return Listing {
                    found: Err(error),
                    trips,
                    requests,
                };
            }
        }
    }
}

fn uri(text: &str) -> S3Uri {
    S3Uri::read(text, "f").unwrap()
}

fn trips_of(keys: impl IntoIterator<Item = String>, page: usize) -> (usize, usize) {
    let store = Store::of(keys, page);
    let uri = uri("s3://b/t/");
    let ran = run(&store, &uri, |_| None);
    assert!(ran.found.unwrap() == store.in_order(&uri).unwrap());
    (ran.trips, ran.requests)
}

#[test]
fn a_page_takes_one_request_and_two_pages_few() {
    let numbered = |count| (0..count).map(|index| format!("t/{index:04}"));
    assert_eq!(trips_of(numbered(100), 100), (1, 1));
    let (trips, requests) = trips_of(numbered(150), 100);
    assert_eq!((trips, requests), (2, 3));
}

#[test]
fn a_hundred_pages_take_few_round_trips_however_keys_are_named() {
    let count = 10_000_u64;
    let mixed = |index: u64| index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for (shape, named) in [
        (
            "one folder",
            &(|index| format!("t/part-{index:07}.parquet")) as &dyn Fn(u64) -> String,
        ),
        ("numbers without zeros", &|index| format!("t/{index}.csv")),
        ("random names", &|index| {
            format!("t/{:016x}.jpeg", mixed(index))
        }),
        ("names of two kinds", &|index| {
            format!(
                "t/{}-{index:05}",
                ["cat", "zebra"][usize::from(index % 2 == 1)]
            )
        }),
        ("twelve months", &|index| {
            format!("t/year=2026/month={:02}/part-{index:07}", index % 12 + 1)
        }),
        ("folders of words", &|index| {
            let word: String = (mixed(index % 500).to_string().bytes())
                .map(|byte| char::from(byte + 49))
                .collect();
            format!("t/train/{word}/{index}.jpg")
        }),
        ("a large folder between small ones", &|index| match index {
            0 => "t/a/x".to_owned(),
            1 => "t/z/x".to_owned(),
            _ => format!("t/m/data/deep/deeper/{index:06}"),
        }),
        ("folders of three files", &|index| {
            format!("t/{:05}/{}", index / 3, index % 3)
        }),
    ] {
        let (trips, requests) = trips_of((0..count).map(named), 100);
        assert!(trips <= 20, "{shape}: {trips} round trips");
        assert!(requests <= 250, "{shape}: {requests} requests");
    }
}

#[test]
fn what_s3_slows_down_goes_on_alone_and_fails_where_it_is_alone() {
    let store = Store::of((0..1000).map(|index| format!("t/{index:04}")), 10);
    let uri = uri("s3://b/t/");
    let mut ranges = KeyRanges::of(KeysInOrder::of(&uri, "f", InputMode::File, None));
    let first = ranges.next().unwrap();
    assert!(!ranges.slow_down(&first));
    ranges.take(&first, &store.answer("t/", &first)).unwrap();
    let both = [ranges.next().unwrap(), ranges.next().unwrap()];
    assert!(ranges.slow_down(&both[0]));
    assert_eq!(ranges.next(), None);
    // It was sent beside the other.
    assert!(ranges.slow_down(&both[1]));
    let alone = ranges.next().unwrap();
    assert_eq!(ranges.next(), None);
    assert!(!ranges.slow_down(&alone));
}

fn keys() -> impl Strategy<Value = BTreeSet<String>> {
    let name = prop_oneof![
        "t/[0-9]{1,4}",
        "t/part-[0-9]{3}",
        "t/[ab]/[0-9a-f]{2}/[xyz]{0,2}",
        "t/[a-c/ü🦀\u{1} %+]{0,5}",
        "t[/0-9a-z-]{0,4}",
        any::<String>().prop_map(|text| format!("t/{text}")),
        Just("t/".to_owned()),
    ];
    prop::collection::btree_set(name, 0..300)
}

proptest! {
    #[test]
    fn whatever_comes_first_the_answer_is_that_of_one_page_after_another(
        keys in keys(),
        page in prop_oneof![1_usize..10, 1_usize..1000],
        shows_begun_folders in any::<bool>(),
        prefix in prop::sample::select(vec!["s3://b/t/", "s3://b/t", "s3://b", "s3://b/t/a", "s3://b/t/part-"]),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..50),
        trips in any::<bool>(),
    ) {
        let mut store = Store::of(keys, page);
        store.shows_begun_folders = shows_begun_folders;
        // A folder's marker has no bytes.
        for (key, size) in &mut store.objects {
            if key.ends_with('/') {
                *size = 0;
            }
        }
        let uri = uri(prefix);
        let mut turn = 0;
        let ran = run(&store, &uri, |under_way| {
            turn += 1;
            (!trips).then(|| order[turn % order.len()].index(under_way))
        });
        match (ran.found, store.in_order(&uri)) {
            (Ok(found), Ok(expected)) => {
                prop_assert_eq!(found.objects.digest(), expected.objects.digest());
                prop_assert_eq!(found, expected);
            }
            (Err(found), Err(expected)) => prop_assert_eq!(found.to_string(), expected.to_string()),
            (found, expected) => prop_assert!(false, "{found:?} in place of {expected:?}"),
        }
    }
}
