use proptest::prelude::*;

use super::*;

fn object(key: &str, bytes: u64) -> DataObject {
    DataObject {
        key: key.to_owned(),
        bytes: Bytes(bytes),
    }
}

fn parts(count: usize) -> Vec<DataObject> {
    (0..count)
        .map(|index| object(&format!("day/part-{index:05}.csv"), 1000 + index as u64))
        .collect()
}

fn keys(objects: &Objects) -> Vec<String> {
    objects.iter().map(|object| object.key).collect()
}

#[test]
fn a_selection_of_a_selection_shares_the_listing() {
    let all: Objects = parts(100).into_iter().collect();
    assert_eq!((all.len(), all.bytes()), (100, Bytes(104_950)));
    let odd = all.select((1..100).step_by(2));
    assert_eq!((odd.len(), odd.bytes()), (50, Bytes(52_500)));
    let few = odd.select([49, 0, 20, 20, 50]);
    assert_eq!(
        keys(&few),
        [
            "day/part-00001.csv",
            "day/part-00041.csv",
            "day/part-00099.csv"
        ]
    );
    assert_eq!(few.bytes(), Bytes(3141));
    assert_eq!(
        few.sizes().collect::<Vec<_>>(),
        [1001, 1041, 1099].map(Bytes)
    );
    assert!(Arc::ptr_eq(&all.listing, &few.listing));
    let alone: Objects = few.iter().collect();
    assert_eq!(alone, few);
    assert_ne!(alone, all.select([1, 41, 98]));
    assert!(all.select([]).is_empty() && Objects::default().is_empty());
    assert_eq!(Objects::default().iter().next(), None);
}

#[test]
fn a_selection_leaves_out_what_only_the_listing_has() {
    let all: Objects = parts(100).into_iter().collect();
    let few = all.select([1, 41, 99]);
    assert!(few.leaves_out("day/part-00040.csv"));
    assert!(!few.leaves_out("day/part-00041.csv"));
    assert!(!few.leaves_out("day/part-00100.csv"));
    assert!(!all.leaves_out("day/part-00040.csv"));
}

#[test]
fn keys_of_one_shape_cost_few_bytes_each() {
    let objects: Objects = (0..100_000)
        .map(|index| {
            object(
                &format!("train/year=2026/month=01/part-{index:07}.parquet"),
                123_456_789,
            )
        })
        .collect();
    let listing = &objects.listing;
    let held = listing.entries.capacity() + 8 * listing.blocks.capacity();
    assert!(held < 25 * 100_000, "{held}");
}

#[test]
fn made_up_sizes_do_not_overflow() {
    let all: Objects = [object("a", u64::MAX), object("b", 1)]
        .into_iter()
        .collect();
    assert_eq!(all.bytes(), Bytes(u64::MAX));
    assert_eq!(all.select([0, 1]).bytes(), Bytes(u64::MAX));
    assert_eq!(all.select([1]).bytes(), Bytes(1));
}

#[test]
fn the_digest_is_of_the_whole_listing_and_of_all_that_it_says() {
    let digest = |objects: &[(&str, u64, &str)]| {
        let mut builder = ObjectsBuilder::default();
        for (key, bytes, etag) in objects {
            builder.push_tagged(key, Bytes(*bytes), etag).unwrap();
        }
        builder.finish()
    };
    let all = digest(&[("a", 1, "x"), ("b", 2, "y")]);
    assert!(all.digest().is_some());
    assert_eq!(all.select([1]).digest(), all.digest());
    for other in [
        digest(&[("a", 1, "x"), ("b", 2, "z")]),
        digest(&[("a", 1, "x"), ("b", 3, "y")]),
        digest(&[("a", 1, "x"), ("by", 2, "")]),
        digest(&[("a", 1, "x")]),
    ] {
        assert!(other.digest().is_some());
        assert_ne!(other.digest(), all.digest());
    }
    assert_eq!(digest(&[("b", 2, "y"), ("a", 1, "x")]).digest(), None);
    assert_eq!(digest(&[]).digest(), None);
    let mut untagged = ObjectsBuilder::default();
    untagged.push_tagged("a", Bytes(1), "x").unwrap();
    untagged.push("b", Bytes(2)).unwrap();
    assert_eq!(untagged.finish().digest(), None);
}

proptest! {
    #[test]
    fn what_went_in_comes_out_sorted(
        mut objects in prop::collection::vec(("(a|ä|/|🦀|.){0,12}", any::<u64>()), 0..100),
        places in prop::collection::vec(0_usize..100, 0..20),
    ) {
        let all: Objects = objects.iter().map(|(key, bytes)| object(key, *bytes)).collect();
        objects.sort();
        let sorted: Vec<_> = objects.iter().map(|(key, bytes)| object(key, *bytes)).collect();
        prop_assert_eq!(all.iter().collect::<Vec<_>>(), sorted.clone());
        let mut visited = Vec::new();
        all.for_each(|key, bytes| visited.push(object(key, bytes.0)));
        prop_assert_eq!(visited, sorted.clone());
        let mut places: Vec<_> = places.into_iter().filter(|place| *place < sorted.len()).collect();
        let few = all.select(places.iter().copied());
        places.sort();
        places.dedup();
        let expected: Vec<_> = places.into_iter().map(|place| sorted[place].clone()).collect();
        prop_assert_eq!(few.iter().collect::<Vec<_>>(), expected);
    }
}
