//! The client of GitHub's API, tried on a GitHub of our own.

use std::collections::BTreeSet;
use std::future::Future;

use canary_gate::code::{self, PathKind};
use canary_gate::github::changes::Changes;
use canary_gate::github::client::{Github, ListExtent, Settings};
use canary_gate::github::error::GithubError;
use canary_gate::github::token::Token;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::github::{FakeGithub, Fault, Files, REPOSITORY, TOKEN, User};

#[derive(Debug, Deserialize)]
struct Comment {
    id: u64,
    body: String,
}

fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(future)
}

async fn client(fake: &FakeGithub) -> Github {
    with_token(fake, TOKEN).await
}

async fn with_token(fake: &FakeGithub, token: &str) -> Github {
    let (api_url, graphql_url) = (fake.api_url(), fake.graphql_url());
    let settings = Settings {
        api_url: &api_url,
        graphql_url: &graphql_url,
        repository: REPOSITORY,
        token: &Token::new(token),
        pace: 0.0,
    };
    Github::new(settings).unwrap()
}

/// What the client says of one request to the fake.
fn get(fake: &FakeGithub, path: &str) -> Result<Value, GithubError> {
    wait_for(async { client(fake).await.get_json(path).await })
}

fn paths(changes: Changes) -> BTreeSet<String> {
    match changes {
        Changes::Files(paths) => paths,
        Changes::Everything { why } => panic!("everything: {why}"),
    }
}

/// What a merge of the head into the base brings.
fn changed_by_merging(fake: &FakeGithub, base: &str, head: &str, files: &Files) -> Changes {
    let merge = fake.commit(&[base, head], files);
    wait_for(async {
        let client = client(fake).await;
        client.changed_files_of_merge(base, &merge).await.unwrap()
    })
}

fn changed_between(fake: &FakeGithub, base: &str, head: &str) -> Changes {
    wait_for(async {
        client(fake)
            .await
            .changed_files_between(base, head)
            .await
            .unwrap()
    })
}

/// A fake whose pull request 7 adds so many files to one that was there.
fn adding(files: usize) -> (FakeGithub, String, String) {
    let fake = FakeGithub::start();
    let old = Files::new().with("README.md", "models");
    let base = fake.commit(&[], &old);
    let new = with_data(files);
    let head = fake.commit(&[&base], &new);
    fake.open_pull_request(7, &base, &head);
    (fake, base, head)
}

/// What lies there then.
fn with_data(files: usize) -> Files {
    let old = Files::new().with("README.md", "models");
    (0..files).fold(old, |new, number| {
        new.with(
            &format!("data/{:02}/{number:04}.csv", number % 50),
            number.to_string(),
        )
    })
}

fn added(files: usize) -> BTreeSet<String> {
    let numbers = 0..files;
    numbers
        .map(|number| format!("data/{:02}/{number:04}.csv", number % 50))
        .collect()
}

// What a pull request is, and what it changes.

#[test]
fn a_pull_request_has_two_sides() {
    let (fake, base, head) = adding(2);
    let merge = fake.commit(&[&base, &head], &Files::new());
    fake.change_pull_request(7, |pull| {
        pull.head_branch = "<b>feature</b>".to_owned();
        pull.head_repository = Some("mallory/models".to_owned());
        pull.merge_commit = Some(merge.clone());
    });
    wait_for(async {
        let client = client(&fake).await;
        let pull = client.pull_request(7).await.unwrap();
        assert_eq!(
            (pull.base.sha.as_str(), pull.base.branch.as_str()),
            (base.as_str(), "main")
        );
        assert_eq!(pull.head.sha, head);
        assert_eq!(pull.head.branch, "<b>feature</b>");
        assert_eq!(pull.head.repository.as_deref(), Some("mallory/models"));
        assert_eq!(pull.updated_at, "2026-09-01T09:00:00Z".parse().unwrap());
        assert!(pull.is_from_fork("example/models"));
        let commit = client.commit(&merge).await.unwrap();
        assert_eq!(commit.parents, [base.clone(), head.clone()]);
        assert_eq!(Some(commit.tree), fake.tree_of(&merge, ""));
    });
    let own = Some(REPOSITORY.to_owned());
    fake.change_pull_request(7, |pull| pull.head_repository = own);
    let pull = wait_for(async { client(&fake).await.pull_request(7).await.unwrap() });
    assert!(!pull.is_from_fork("example/models"));
}

#[test]
fn a_deleted_fork_is_a_fork() {
    // GitHub's description does not have the null that GitHub sends here.
    let fake = FakeGithub::unjudged();
    let base = fake.commit(&[], &Files::new().with("a", "1"));
    fake.open_pull_request(7, &base, &base);
    fake.change_pull_request(7, |pull| pull.head_repository = None);
    let pull = wait_for(async { client(&fake).await.pull_request(7).await.unwrap() });
    assert_eq!(pull.head.repository, None);
    assert!(pull.is_from_fork("example/models"));
}

#[test]
fn a_merge_of_any_size_lists_all_its_files() {
    for (files, trees) in [(250, 0), (350, 2), (3_500, 2)] {
        let (fake, base, head) = adding(files);
        let changes = changed_by_merging(&fake, &base, &head, &with_data(files));
        assert_eq!(paths(changes), added(files));
        assert_eq!(fake.calls("GET", "/git/trees"), trees, "of {files} files");
        assert_eq!(fake.calls("GET", "/pulls/7/files"), 0);
    }
}

#[test]
fn a_submodule_that_is_gone_or_among_many_files_is_a_folder() {
    let fake = FakeGithub::start();
    let gitmodules = "[submodule \"library\"]\n\tpath = vendor/library\n\turl = ../library\n";
    let plain = Files::new().with("README.md", "models");
    let old = plain
        .clone()
        .with(".gitmodules", gitmodules)
        .with_submodule("vendor/library", &"c".repeat(40));
    let base = fake.commit(&[], &old);
    let gone = fake.commit(&[&base], &plain);
    let expected = [".gitmodules", "vendor/library/"].map(str::to_owned);
    assert_eq!(paths(changed_between(&fake, &base, &gone)), expected.into());
    // A list of submodules behind a link names none, and is no reason to stop.
    let linked = old
        .without(".gitmodules")
        .with_link(".gitmodules", "README.md");
    let linked = fake.commit(&[&base], &linked);
    let gone = fake.commit(&[&linked], &plain);
    let expected = [".gitmodules", "vendor/library"].map(str::to_owned);
    assert_eq!(
        paths(changed_between(&fake, &linked, &gone)),
        expected.into()
    );
    let many = with_data(350)
        .with(".gitmodules", gitmodules)
        .with_submodule("vendor/library", &"d".repeat(40));
    let many = fake.commit(&[&base], &many);
    let mut expected = added(350);
    expected.insert("vendor/library/".to_owned());
    assert_eq!(paths(changed_between(&fake, &base, &many)), expected);
}

#[test]
fn a_comparison_counts_from_where_the_head_left_the_base() {
    let fake = FakeGithub::start();
    let old = Files::new()
        .with("train.py", "1")
        .with("data.py", "1")
        .with("gone.py", "1");
    let shared = fake.commit(&[], &old);
    let base = fake.commit(&[&shared], &old.clone().with("data.py", "on main since"));
    let head = fake.commit(&[&shared], &old.with("train.py", "2").without("gone.py"));
    let expected = BTreeSet::from(["gone.py".to_owned(), "train.py".to_owned()]);
    assert_eq!(paths(changed_between(&fake, &base, &head)), expected);
}

#[test]
fn over_300_files_of_a_comparison_come_from_the_trees() {
    let (fake, base, head) = adding(299);
    assert_eq!(paths(changed_between(&fake, &base, &head)), added(299));
    assert_eq!(fake.calls("GET", "/git/trees"), 0);
    let (fake, base, head) = adding(350);
    assert_eq!(paths(changed_between(&fake, &base, &head)), added(350));
    assert_eq!(fake.calls("GET", "/git/trees"), 2);
}

#[test]
fn a_renamed_file_counts_under_both_names() {
    let fake = FakeGithub::start();
    let old = Files::new().with("train/old name.py", "1").with("a", "2");
    let base = fake.commit(&[], &old);
    let new = old.renamed("train/old name.py", "train/größe.py");
    let head = fake.commit(&[&base], &new);
    let both = BTreeSet::from(["train/old name.py".to_owned(), "train/größe.py".to_owned()]);
    let merged = changed_by_merging(&fake, &base, &head, &new);
    assert_eq!(paths(merged), both);
    assert_eq!(paths(changed_between(&fake, &base, &head)), both);
}

#[test]
fn commits_without_a_common_past_change_everything() {
    let fake = FakeGithub::start();
    let base = fake.commit(&[], &Files::new().with("a", "1"));
    let head = fake.commit(&[], &Files::new().with("b", "1"));
    for base in [base.as_str(), &"0".repeat(40), &"1".repeat(40)] {
        let Changes::Everything { why } = changed_between(&fake, base, &head) else {
            panic!("the files of {base} are known");
        };
        assert!(why.contains("compare"), "{why}");
    }
}

#[test]
fn a_comparison_that_github_cannot_make_comes_from_the_trees() {
    for fault in [
        Fault::Status(500),
        Fault::Unprocessable("Sorry, this diff is taking too long to generate."),
    ] {
        let (fake, base, head) = adding(4);
        fake.fail("GET", "/compare/").with(fault);
        let merged = changed_by_merging(&fake, &base, &head, &with_data(4));
        assert_eq!(paths(merged), added(4));
        // Where both parted is not known without it.
        let Changes::Everything { why } = changed_between(&fake, &base, &head) else {
            panic!("its files are known");
        };
        assert!(why.contains("cannot compare"), "{why}");
    }
}

// The files of a commit.

#[test]
fn a_tree_has_every_file_with_its_blob_and_kind() {
    let fake = FakeGithub::start();
    let library = "c0ffee0000000000000000000000000000000000";
    let files = Files::new()
        .with("train.py", "print(1)\n")
        .with_program("deep/er/run.sh", "#!/bin/sh\n")
        .with_link("deep/link", "../train.py")
        .with_submodule("vendor/library", library);
    let commit = fake.commit(&[], &files);
    let tree = wait_for(async { client(&fake).await.tree(&commit).await.unwrap() });
    let blob_id = |content: &[u8]| code::blob_id("", content);
    let listed = (tree.files().iter())
        .map(|file| (file.path.to_str().unwrap(), file.blob.as_str(), file.kind));
    assert_eq!(
        listed.collect::<Vec<_>>(),
        [
            (
                "deep/er/run.sh",
                blob_id(b"#!/bin/sh\n").as_str(),
                PathKind::Executable
            ),
            (
                "deep/link",
                blob_id(b"../train.py").as_str(),
                PathKind::Link
            ),
            ("train.py", blob_id(b"print(1)\n").as_str(), PathKind::File),
            ("vendor/library", library, PathKind::Submodule),
        ]
    );
}

#[test]
fn a_commits_tree_is_read_once() {
    let fake = FakeGithub::start();
    let commit = fake.commit(&[], &Files::new().with("train.py", "print(1)\n"));
    let trees = wait_for(async {
        let github = client(&fake).await;
        let first = github.tree(&commit).await.unwrap();
        [first, github.clone().tree(&commit).await.unwrap()]
    });
    assert_eq!(trees[0], trees[1]);
    assert_eq!(fake.calls("GET", "/git/trees"), 1);
}

#[test]
fn a_tree_that_github_cuts_is_read_folder_by_folder() {
    let (fake, _, head) = adding(100);
    fake.cut_trees_at(60);
    let tree = wait_for(async { client(&fake).await.tree(&head).await.unwrap() });
    let mut expected = added(100);
    expected.insert("README.md".to_owned());
    let listed: BTreeSet<String> = (tree.files().iter())
        .map(|file| file.path.to_str().unwrap().to_owned())
        .collect();
    assert_eq!(listed, expected);
}

#[test]
fn a_tree_that_takes_too_many_requests_is_too_large_and_changes_everything() {
    let fake = FakeGithub::start();
    let base = fake.commit(&[], &Files::new());
    let files = (0..450).fold(Files::new(), |files, number| {
        files.with(&format!("data/{}/{number}.csv", number % 150), "1")
    });
    let head = fake.commit(&[&base], &files);
    fake.cut_trees_at(2);
    let error = wait_for(async { client(&fake).await.tree(&head).await.unwrap_err() });
    assert!(matches!(error, GithubError::TooLarge { .. }), "{error}");
    assert!(fake.calls("GET", "/git/trees") <= 200);
    let Changes::Everything { why } = changed_between(&fake, &base, &head) else {
        panic!("its files are known");
    };
    assert!(why.contains("too large"), "{why}");
}

#[test]
fn a_file_is_read_as_it_stands_at_a_commit() {
    let fake = FakeGithub::start();
    let old = Files::new()
        .with(".github/canary-gate.yml", "version: 1\n")
        .with("gate.yml", "");
    let base = fake.commit(&[], &old);
    let head = fake.commit(
        &[&base],
        &old.with(".github/canary-gate.yml", "version: 2\n"),
    );
    let read = |commit: &str, path: &str| {
        wait_for(async {
            client(&fake)
                .await
                .file_at(path, commit, 1000)
                .await
                .unwrap()
        })
    };
    let content = |text: &str| Some(text.as_bytes().to_vec());
    assert_eq!(
        read(&base, ".github/canary-gate.yml"),
        content("version: 1\n")
    );
    assert_eq!(
        read(&head, ".github/canary-gate.yml"),
        content("version: 2\n")
    );
    assert_eq!(read(&head, "gate.yml"), content(""));
    assert_eq!(read(&head, "none.yml"), None);
    assert_eq!(read(&head, "none/gate.yml"), None);
}

#[test]
fn what_is_not_a_file_is_not_read_and_no_path_leaves_its_commit() {
    let fake = FakeGithub::start();
    let files = Files::new()
        .with("specs/gate.yml", "version: 1\n")
        .with_link("linked.yml", "specs/gate.yml")
        .with_link("linked", "specs")
        .with_submodule("library", &"c".repeat(40));
    let commit = fake.commit(&[], &files);
    let many = "a/".repeat(100_000);
    for path in [
        "linked/gate.yml",
        "specs",
        "specs/",
        "library",
        "library/a",
        "",
        "/",
        "/specs/gate.yml",
        "specs//gate.yml",
        "specs/../specs/gate.yml",
        "../../../user",
        "specs/gate.yml?ref=main",
        "specs/gate.yml#x",
        "specs%2Fgate.yml",
        "\0",
        &many,
    ] {
        let content = wait_for(async {
            client(&fake)
                .await
                .file_at(path, &commit, 1000)
                .await
                .unwrap()
        });
        assert_eq!(content, None, "{path}");
    }
    let link = wait_for(async {
        client(&fake)
            .await
            .file_at("linked.yml", &commit, 1000)
            .await
    });
    assert!(matches!(link, Err(GithubError::Link { .. })), "{link:?}");
    assert!(
        fake.requests()
            .iter()
            .all(|said| said.path.starts_with("/repos/example/models/git/trees/"))
    );
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let fake = FakeGithub::start();
    let commit = fake.commit(&[], &Files::new().with("gate.yml", "12345"));
    let read = |limit| {
        wait_for(async {
            client(&fake)
                .await
                .file_at("gate.yml", &commit, limit)
                .await
        })
    };
    assert_eq!(read(5).unwrap(), Some(b"12345".to_vec()));
    let error = read(4).unwrap_err();
    assert!(
        matches!(error, GithubError::TooLarge { limit: 4, .. }),
        "{error}"
    );
}

#[test]
fn an_answer_is_not_read_beyond_its_limit_and_a_content_must_have_its_id() {
    let fake = FakeGithub::unjudged();
    let commit = fake.commit(&[], &Files::new().with("gate.yml", "12345"));
    let read = || {
        wait_for(async {
            client(&fake)
                .await
                .file_at("gate.yml", &commit, 10)
                .await
                .unwrap_err()
        })
    };
    fake.fail("GET", "/git/blobs/")
        .times(1)
        .with(Fault::Text("1234567890!".to_owned()));
    assert!(matches!(read(), GithubError::TooLarge { limit: 10, .. }));
    fake.fail("GET", "/git/blobs/")
        .with(Fault::Text("other".to_owned()));
    assert!(matches!(read(), GithubError::Malformed { .. }));
}

// Comments, and lists in pages.

#[test]
fn a_list_is_read_page_by_page_and_no_further_than_asked_for() {
    let (fake, ..) = adding(1);
    for number in 0..250 {
        fake.comment(7, &User::person("octocat"), &format!("comment {number}"));
    }
    // A failure in the middle is waited for.
    fake.fail("GET", "/comments")
        .after(1)
        .times(1)
        .with(Fault::Dropped);
    for (most, extent, count, calls) in [
        (30, ListExtent::Whole, 250, 4),
        (2, ListExtent::Cut, 200, 6),
    ] {
        let mut bodies = Vec::new();
        let listing = wait_for(async {
            let visit = |comment: Comment| bodies.push(comment.body);
            client(&fake)
                .await
                .pages("issues/7/comments", most, visit)
                .await
                .unwrap()
        });
        assert_eq!((listing, bodies.len()), (extent, count));
        assert_eq!(bodies[199], "comment 199");
        assert_eq!(fake.calls("GET", "/comments"), calls);
    }
}

#[test]
fn a_comment_is_created_changed_and_deleted() {
    let (fake, ..) = adding(1);
    wait_for(async {
        let client = client(&fake).await;
        let path = "issues/7/comments";
        let (first, newer) = (json!({"body": "ours"}), json!({"body": "ours, newer"}));
        let created: Comment = client.post_json(path, &first).await.unwrap();
        let own = format!("issues/comments/{}", created.id);
        let _: Comment = client.patch_json(&own, &newer).await.unwrap();
        assert_eq!(fake.comments(7)[0].body, "ours, newer");
        assert_eq!(fake.comments(7)[0].user, User::actions());
        client.delete(&own).await.unwrap();
        assert_eq!(fake.comments(7), []);
        let error = client.delete(&own).await.unwrap_err();
        assert!(matches!(error, GithubError::NotFound { .. }), "{error}");
    });
}

#[test]
fn graphql_says_who_is_asking() {
    for fake in [FakeGithub::start(), FakeGithub::enterprise()] {
        let ask = |query: &'static str| {
            wait_for(async {
                client(&fake)
                    .await
                    .graphql::<Value>(query, &Value::Null)
                    .await
            })
        };
        fake.fail("POST", "/graphql")
            .times(1)
            .with(Fault::Status(502));
        let answer = ask("{ viewer { login } }").unwrap();
        assert_eq!(answer["viewer"]["login"], "github-actions[bot]");
        fake.sign_in_as(&User::person("octocat"));
        assert_eq!(
            ask("{ viewer { login } }").unwrap()["viewer"]["login"],
            "octocat"
        );
        let error = ask("{ unknown }").unwrap_err();
        assert!(
            matches!(error, GithubError::Unprocessable { .. }),
            "{error}"
        );
    }
}

// Where GitHub is.

#[test]
fn an_enterprise_server_keeps_the_path_of_its_api() {
    let fake = FakeGithub::enterprise();
    assert!(fake.api_url().ends_with("/api/v3"));
    let commit = fake.commit(&[], &Files::new().with("gate.yml", "version: 1\n"));
    let content = wait_for(async { client(&fake).await.file_at("gate.yml", &commit, 100).await });
    assert_eq!(content.unwrap(), Some(b"version: 1\n".to_vec()));
}

#[test]
fn every_request_says_what_it_speaks() {
    let (fake, ..) = adding(1);
    get(&fake, "pulls/7").unwrap();
    let said = &fake.requests()[0];
    assert_eq!(said.path, "/repos/example/models/pulls/7");
    assert_eq!(said.headers["accept"], "application/vnd.github+json");
    assert_eq!(said.headers["x-github-api-version"], "2022-11-28");
    assert!(said.headers.contains_key("user-agent"));
}

#[test]
fn wrong_settings_are_named_before_anything_is_sent() {
    let good = Settings {
        api_url: "https://api.github.com",
        graphql_url: "https://api.github.com/graphql",
        repository: REPOSITORY,
        token: &Token::new(TOKEN),
        pace: 0.0,
    };
    let named = |settings: Settings| match Github::new(settings).unwrap_err() {
        GithubError::Settings { what, .. } => what,
        error => panic!("{error}"),
    };
    let wrong = Settings {
        api_url: "api.github.com",
        ..good
    };
    assert_eq!(named(wrong), "GITHUB_API_URL");
    let wrong = Settings {
        repository: "example/models/../../user",
        ..good
    };
    assert_eq!(named(wrong), "GITHUB_REPOSITORY");
    let empty = Token::new("");
    let wrong = Settings {
        token: &empty,
        ..good
    };
    assert_eq!(named(wrong), "the input github-token");
    // The token does not go to another host.
    let elsewhere = Settings {
        graphql_url: "http://127.0.0.1:1/graphql",
        ..good
    };
    let error = wait_for(async {
        let client = Github::new(elsewhere).unwrap();
        client
            .graphql::<Value>("{ viewer { login } }", &Value::Null)
            .await
            .unwrap_err()
    });
    assert!(
        matches!(
            error,
            GithubError::Settings {
                what: "GITHUB_GRAPHQL_URL",
                ..
            }
        ),
        "{error}"
    );
}

// Faults.

/// Each row: the method, the fault, how many requests meet it, how many are sent, and the error with what it says; none where the
/// request is answered in the end.
#[test]
fn what_passes_is_waited_for_and_what_does_not_is_an_error_that_says_what_to_do() {
    const BLOCK: &str = "permissions:\n      contents: read\n      pull-requests: write";
    let forbidden = Fault::Forbidden("issues=write; pull_requests=write");
    let too_long = Fault::Unprocessable("Body is too long (maximum is 65536 characters)");
    let always = u64::MAX;
    for (method, fault, times, calls, error) in [
        ("GET", Fault::Status(500), 4, 5, None),
        ("GET", Fault::Status(502), 4, 5, None),
        ("GET", Fault::Status(503), 4, 5, None),
        ("GET", Fault::Status(429), 4, 5, None),
        ("GET", Fault::SecondaryLimit(Some(30)), 4, 5, None),
        ("GET", Fault::SecondaryLimit(None), 4, 5, None),
        ("GET", Fault::PrimaryLimit(20), 4, 5, None),
        ("GET", Fault::Dropped, 4, 5, None),
        // A change may be sent again, and what a rate limit kept from being created is created later.
        ("PATCH", Fault::CarriedOutThenDropped, 2, 3, None),
        ("POST", Fault::SecondaryLimit(None), 2, 3, None),
        ("POST", Fault::Status(429), 2, 3, None),
        // Trouble that lasts.
        (
            "GET",
            Fault::Status(502),
            always,
            5,
            Some(("ServerTrouble", "502, after 5 attempts")),
        ),
        (
            "GET",
            Fault::SecondaryLimit(None),
            always,
            5,
            Some(("RateLimited", "in a few minutes")),
        ),
        (
            "GET",
            Fault::Dropped,
            always,
            5,
            Some(("NotReachable", "GET pulls/7")),
        ),
        // A limit that lasts longer than a minute.
        (
            "POST",
            Fault::PrimaryLimit(1800),
            always,
            1,
            Some(("RateLimited", "job again after 20")),
        ),
        (
            "POST",
            Fault::SecondaryLimit(Some(1800)),
            always,
            1,
            Some(("RateLimited", "job again after 20")),
        ),
        // What a person must correct.
        (
            "POST",
            forbidden.clone(),
            always,
            1,
            Some(("Forbidden", "Resource not accessible by integration")),
        ),
        ("POST", forbidden, always, 1, Some(("Forbidden", BLOCK))),
        (
            "POST",
            Fault::Status(404),
            always,
            1,
            Some(("NotFound", "(404)")),
        ),
        (
            "POST",
            Fault::Status(422),
            always,
            1,
            Some(("Unprocessable", "Validation Failed: Body cannot be blank")),
        ),
        (
            "POST",
            too_long,
            always,
            1,
            Some(("Unprocessable", "Body is too long")),
        ),
        (
            "POST",
            Fault::Status(401),
            always,
            1,
            Some(("Unauthorized", "401")),
        ),
        (
            "POST",
            Fault::Status(410),
            always,
            1,
            Some(("Unexpected", "410")),
        ),
        // What may have been created is not created again.
        (
            "POST",
            Fault::CarriedOutThen502,
            1,
            1,
            Some(("Unsure", "the answer was 502")),
        ),
        (
            "POST",
            Fault::CarriedOutThenDropped,
            1,
            1,
            Some(("Unsure", "POST issues/7/comments")),
        ),
        (
            "POST",
            Fault::Text("<html>".to_owned()),
            1,
            1,
            Some(("Unsure", "could not be read")),
        ),
    ] {
        let (fake, ..) = adding(1);
        let id = fake.comment(7, &User::actions(), "old");
        fake.fail(method, "").times(times).with(fault.clone());
        let patched = format!("issues/comments/{id}");
        let body = json!({"body": "ours"});
        let answer: Result<Value, GithubError> = wait_for(async {
            let client = client(&fake).await;
            match method {
                "GET" => client.get_json("pulls/7").await,
                "PATCH" => client.patch_json(&patched, &body).await,
                _ => client.post_json("issues/7/comments", &body).await,
            }
        });
        assert_eq!(fake.calls(method, ""), calls, "{method} {fault:?}");
        match (answer, error) {
            (Ok(_), None) => {}
            (Err(found), Some((kind, said))) => {
                let text = format!("{found} {}", found.help());
                let is_kind = format!("{found:?}").starts_with(kind);
                assert!(is_kind && text.contains(said), "{found:?} {text}");
            }
            (answer, error) => panic!("{method} {fault:?}: {answer:?}, not {error:?}"),
        }
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let (fake, ..) = adding(1);
    let (elsewhere, ..) = adding(1);
    let address = format!("{}/repos/example/models/pulls/7", elsewhere.api_url());
    fake.fail("GET", "/pulls/7").with(Fault::Redirect(address));
    let error = get(&fake, "pulls/7").unwrap_err();
    assert!(
        matches!(error, GithubError::Unexpected { status: 301, .. }),
        "{error}"
    );
    assert_eq!(elsewhere.requests(), []);
}

#[test]
fn an_answer_that_is_no_json_of_that_shape_is_malformed() {
    let (fake, ..) = adding(1);
    let deep = "[".repeat(100_000);
    for text in ["", "<html>", "{\"number\": \"seven\"}", "[]", deep.as_str()] {
        fake.recover();
        fake.fail("GET", "/pulls/7")
            .with(Fault::Text(text.to_owned()));
        let error = wait_for(async { client(&fake).await.pull_request(7).await.unwrap_err() });
        assert!(matches!(error, GithubError::Malformed { .. }), "{error}");
    }
}

#[test]
fn an_address_without_a_server_is_an_error_with_the_cause() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let api_url = format!("http://{free}");
    let settings = Settings {
        api_url: &api_url,
        graphql_url: &api_url,
        repository: REPOSITORY,
        token: &Token::new(TOKEN),
        pace: 0.0,
    };
    let error = wait_for(async {
        let client = Github::new(settings).unwrap();
        client.get_json::<Value>("pulls/7").await.unwrap_err()
    });
    assert!(matches!(error, GithubError::NotReachable { .. }), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[test]
fn the_token_is_in_no_text() {
    let secret = "ghp_SECRETsecretSECRETsecretSECRETsecret12";
    let (fake, ..) = adding(1);
    for fault in [
        None,
        Some(Fault::Dropped),
        Some(Fault::Status(502)),
        Some(Fault::PrimaryLimit(9999)),
    ] {
        fake.recover();
        if let Some(fault) = fault {
            fake.fail("GET", "/pulls/7").with(fault);
        }
        wait_for(async {
            let client = with_token(&fake, secret).await;
            let error = client.get_json::<Value>("pulls/7").await.unwrap_err();
            let text = format!("{error} {error:?} {} {client:?}", error.help());
            assert!(!text.contains("SECRET"), "{text}");
        });
    }
    assert!(
        fake.requests()
            .iter()
            .all(|said| !format!("{said:?}").contains("SECRET"))
    );
}
