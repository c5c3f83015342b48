//! The client of GitHub's API, tried on a GitHub of our own.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use canary_gate::change::Change;
use canary_gate::code::{self, PathKind, Tree};
use canary_gate::github::client::Github;
use canary_gate::github::environment::Environment;
use canary_gate::github::error::{ForgeError, ForgeErrorKind};
use canary_gate::github::pull_request::{BranchTip, PullRequest};
use canary_gate::github::token::Token;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::github::{FakeGithub, Fault, Files, REPOSITORY, TOKEN, User};

#[derive(Debug, Deserialize)]
struct Comment {
    body: String,
}

fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(future)
}

fn client(fake: &FakeGithub, token: &str) -> Github {
    let of = Environment {
        api_url: fake.api_url(),
        graphql_url: fake.graphql_url(),
        repository: REPOSITORY.to_owned(),
        ..Environment::default()
    };
    Github::new(&of, &Token::new(token), 0.0).unwrap()
}

/// What the client says of something that it is asked.
fn asked<T>(fake: &FakeGithub, ask: impl AsyncFnOnce(Github) -> T) -> T {
    wait_for(async { ask(client(fake, TOKEN)).await })
}

fn get(fake: &FakeGithub, path: &str) -> Result<Value, ForgeError> {
    asked(fake, async |github| github.get_json(path).await)
}

/// What differs between two commits, each path on a line; or why that is not known.
fn changed(fake: &FakeGithub, before: &str, after: &str) -> Result<String, String> {
    let here = Tree::new(Vec::new(), BTreeMap::new());
    let change = asked(fake, async |github| {
        github.change((before, after), String::new(), &here).await
    });
    match change.unwrap() {
        Change::Paths { paths, .. } => {
            let paths = paths.iter().map(|path| path.to_str().unwrap());
            Ok(paths.collect::<Vec<_>>().join("\n"))
        }
        Change::Everything { why } => Err(why),
    }
}

/// A fake with a commit, and the pull request 7 that is one more.
fn with_pull_request() -> (FakeGithub, String, String) {
    let fake = FakeGithub::start();
    let old = Files::new().with("README.md", "models");
    let base = fake.commit(&[], &old);
    let head = fake.commit(&[&base], &old.with("train.py", "print(1)\n"));
    fake.open_pull_request(7, &base, &head);
    (fake, base, head)
}

/// So many files in so many folders.
fn many(files: usize, folders: usize) -> Files {
    (0..files).fold(Files::new(), |new, number| {
        let path = format!("data/{:03}/{number:04}.csv", number % folders);
        new.with(&path, number.to_string())
    })
}

fn listed(tree: &Tree) -> BTreeSet<String> {
    let paths = tree.files().iter().map(|file| file.path.to_str().unwrap());
    paths.map(str::to_owned).collect()
}

// What a pull request is, and what it changes.

#[test]
fn a_pull_request_has_two_sides_and_is_from_a_fork_unless_its_head_is_here() {
    let pull =
        |fake: &FakeGithub| asked(fake, async |github| github.pull_request(7).await).unwrap();
    let (fake, base, head) = with_pull_request();
    fake.change_pull_request(7, |pull| pull.head_branch = "<b>feature</b>".to_owned());
    let own = pull(&fake);
    let side = |sha: &str, branch: &str| BranchTip {
        sha: sha.to_owned(),
        branch: branch.to_owned(),
        repository: Some(REPOSITORY.to_owned()),
    };
    let expected = PullRequest {
        number: 7,
        base: side(&base, "main"),
        head: side(&head, "<b>feature</b>"),
        updated_at: "2026-09-01T09:00:00Z".parse().unwrap(),
    };
    assert_eq!(own, expected);
    assert!(!own.is_from_fork("Example/models"));
    fake.change_pull_request(7, |pull| {
        pull.head_repository = Some("mallory/models".to_owned());
    });
    assert!(pull(&fake).is_from_fork("example/models"));
    // GitHub's description does not have the null that GitHub sends for a fork that was deleted.
    let fake = FakeGithub::unjudged();
    let base = fake.commit(&[], &Files::new().with("a", "1"));
    fake.open_pull_request(7, &base, &base);
    fake.change_pull_request(7, |pull| pull.head_repository = None);
    assert!(pull(&fake).is_from_fork("example/models"));
}

/// By its two trees, each read once, whatever lies between: no merge base, and no list that GitHub cuts.
#[test]
fn what_differs_between_two_commits_is_listed_whole() {
    let fake = FakeGithub::start();
    let old = Files::new()
        .with("same.py", "1")
        .with("train/old name.py", "1")
        .with("gone.py", "1")
        .with("changed.py", "1")
        .with_submodule("vendor/gone", &"c".repeat(40))
        .with_submodule("vendor/moved", &"c".repeat(40));
    let new = old
        .clone()
        .renamed("train/old name.py", "train/größe.py")
        .without("gone.py")
        .without("vendor/gone")
        .with_program("changed.py", "1")
        .with_submodule("vendor/moved", &"d".repeat(40))
        .with_link("link", "same.py");
    let before = fake.commit(&[], &old);
    let after = fake.commit(&[], &new);
    assert_eq!(
        changed(&fake, &before, &after).unwrap(),
        "changed.py\ngone.py\nlink/\ntrain/größe.py\ntrain/old name.py\nvendor/gone/\nvendor/moved/"
    );
    assert_eq!(fake.requests().len(), 2);
    let huge = fake.commit(&[], &many(3_500, 50));
    let empty = fake.commit(&[], &Files::new());
    assert_eq!(
        changed(&fake, &empty, &huge).unwrap().lines().count(),
        3_500
    );
}

#[test]
fn a_commit_that_is_gone_or_too_large_changes_everything() {
    let (fake, base, head) = with_pull_request();
    let large = fake.commit(&[&base], &many(450, 150));
    let gone = "1".repeat(40);
    assert!(
        changed(&fake, &gone, &head)
            .unwrap_err()
            .contains("one was removed")
    );
    fake.state().tree_limit = 2;
    assert!(
        changed(&fake, &base, &large)
            .unwrap_err()
            .contains("too large")
    );
    assert!(fake.calls("GET", "/git/trees") <= 203);
}

// The files of a commit.

#[test]
fn a_tree_has_every_file_with_its_blob_and_kind_and_is_read_once() {
    let fake = FakeGithub::start();
    let library = "c0ffee0000000000000000000000000000000000";
    let files = Files::new()
        .with("train.py", "print(1)\n")
        .with_program("deep/er/run.sh", "#!/bin/sh\n")
        .with_link("deep/link", "../train.py")
        .with_submodule("vendor/library", library);
    let commit = fake.commit(&[], &files);
    let tree = asked(&fake, async |github| {
        let first = github.tree(&commit).await.unwrap();
        assert_eq!(first, github.clone().tree(&commit).await.unwrap());
        first
    });
    assert_eq!(fake.calls("GET", "/git/trees"), 1);
    let blob = |content: &str| code::blob_id("", content.as_bytes());
    let listed = (tree.files().iter())
        .map(|file| (file.path.to_str().unwrap(), file.blob.clone(), file.kind));
    let expected = [
        ("deep/er/run.sh", blob("#!/bin/sh\n"), PathKind::Executable),
        ("deep/link", blob("../train.py"), PathKind::Link),
        ("train.py", blob("print(1)\n"), PathKind::File),
        ("vendor/library", library.to_owned(), PathKind::Submodule),
    ];
    assert_eq!(listed.collect::<Vec<_>>(), expected);
}

#[test]
fn a_tree_that_github_cuts_is_read_folder_by_folder() {
    let fake = FakeGithub::start();
    let commit = fake.commit(&[], &many(100, 50));
    let read = || asked(&fake, async |github| github.tree(&commit).await).unwrap();
    let whole = listed(&read());
    assert_eq!(whole.len(), 100);
    fake.state().tree_limit = 60;
    assert_eq!(listed(&read()), whole);
}

#[test]
fn a_file_is_read_as_it_stands_at_a_commit_and_no_path_leaves_that() {
    let fake = FakeGithub::start();
    let old = Files::new()
        .with(".github/canary-gate.yml", "version: 1\n")
        .with("empty.yml", "")
        .with_link("linked.yml", "empty.yml")
        .with_link("linked", ".github")
        .with_submodule("library", &"c".repeat(40));
    let base = fake.commit(&[], &old);
    let head = fake.commit(
        &[&base],
        &old.with(".github/canary-gate.yml", "version: 2\n"),
    );
    let read = |commit: &str, path: &str| {
        let content = asked(&fake, async |github| {
            github.file_at(path, commit, 1000).await
        });
        content.map(|content| content.map(|bytes| String::from_utf8(bytes).unwrap()))
    };
    for (commit, path, content) in [
        (&base, ".github/canary-gate.yml", "version: 1\n"),
        (&head, ".github/canary-gate.yml", "version: 2\n"),
        (&head, "empty.yml", ""),
    ] {
        assert_eq!(read(commit, path).unwrap().as_deref(), Some(content));
    }
    let asked = fake.requests().len();
    let deep = "a/".repeat(100_000);
    for path in [
        "none.yml",
        "none/gate.yml",
        "linked/canary-gate.yml",
        ".github",
        "library",
        "library/a",
        "",
        "/",
        "/empty.yml",
        ".github/../empty.yml",
        "../../../user",
        "empty.yml?ref=main",
        "empty.yml#x",
        ".github%2Fcanary-gate.yml",
        "\0",
        &deep,
    ] {
        assert_eq!(read(&head, path).unwrap(), None, "{path}");
    }
    let link = read(&head, "linked.yml").unwrap_err();
    assert_eq!(link.kind, ForgeErrorKind::Unreadable);
    let is_of_a_tree = |path: &str| path.starts_with("/repos/example/models/git/trees/");
    assert!(
        fake.requests()[asked..]
            .iter()
            .all(|said| is_of_a_tree(&said.path))
    );
}

#[test]
fn an_answer_is_not_read_beyond_its_limit_and_a_content_must_have_its_id() {
    let fake = FakeGithub::unjudged();
    let commit = fake.commit(&[], &Files::new().with("gate.yml", "12345"));
    let read = |limit| {
        let file = async |github: Github| github.file_at("gate.yml", &commit, limit).await;
        asked(&fake, file).map_err(|error| error.to_string())
    };
    assert_eq!(read(5), Ok(Some(b"12345".to_vec())));
    assert!(read(4).unwrap_err().contains("too large: over 4 bytes"));
    let other = Fault::Text("other".to_owned());
    fake.fail("GET", "/git/blobs/").with(other);
    assert!(
        read(10)
            .unwrap_err()
            .contains("not the content with that id")
    );
}

// Comments, and lists in pages.

#[test]
fn a_list_is_read_page_by_page_and_no_further_than_asked_for() {
    let (fake, ..) = with_pull_request();
    for number in 0..250 {
        fake.comment(7, &User::person("octocat"), &format!("comment {number}"));
    }
    // A failure in the middle is waited for.
    let second = fake.fail("GET", "/comments").after(1).times(1);
    second.with(Fault::Dropped);
    for (most, is_whole, count, calls) in [(30, true, 250, 4), (2, false, 200, 6)] {
        let mut bodies = Vec::new();
        let visit = |comment: Comment| bodies.push(comment.body);
        let listing = asked(&fake, async |github| {
            github.pages("issues/7/comments", most, visit).await
        });
        assert_eq!((listing.is_ok(), bodies.len()), (is_whole, count));
        assert_eq!(bodies[199], "comment 199");
        assert_eq!(fake.calls("GET", "/comments"), calls);
    }
}

// Where GitHub is, and what it is told.

#[test]
fn graphql_is_asked_beside_the_api_also_on_an_enterprise_server() {
    for fake in [FakeGithub::start(), FakeGithub::enterprise()] {
        let commit = fake.commit(&[], &Files::new().with("gate.yml", "version: 1\n"));
        let tree = asked(&fake, async |github| github.tree(&commit).await);
        assert_eq!(listed(&tree.unwrap()), ["gate.yml".to_owned()].into());
        let ask = |query: &str| {
            asked(&fake, async |github| {
                github.graphql::<Value>(query, &Value::Null).await
            })
        };
        fake.fail("POST", "/graphql")
            .times(1)
            .with(Fault::Status(502));
        let answer = ask("{ viewer { login } }").unwrap();
        assert_eq!(answer["viewer"]["login"], "github-actions[bot]");
        let error = ask("{ unknown }").unwrap_err();
        assert_eq!(error.kind, ForgeErrorKind::Unprocessable);
        for text in ["[]", "3", "{}", r#"{"data": null}"#] {
            let fault = Fault::Text(text.to_owned());
            fake.fail("POST", "/graphql").times(1).with(fault);
            let error = ask("{ viewer { login } }").unwrap_err().to_string();
            assert!(error.contains("neither data nor errors"), "{error}");
        }
    }
}

#[test]
fn every_request_says_what_it_speaks() {
    let (fake, ..) = with_pull_request();
    get(&fake, "pulls/7").unwrap();
    let said = &fake.requests()[0];
    assert_eq!(said.path, "/repos/example/models/pulls/7");
    assert_eq!(said.headers["accept"], "application/vnd.github+json");
    assert_eq!(said.headers["x-github-api-version"], "2022-11-28");
    assert!(said.headers.contains_key("user-agent"));
}

#[test]
fn wrong_settings_are_named_before_anything_is_sent() {
    let (url, empty) = ("https://api.github.com", Token::new(""));
    let token = &Token::new(TOKEN);
    for (api_url, graphql_url, repository, token, named) in [
        ("api.github.com", url, REPOSITORY, token, "GITHUB_API_URL"),
        (
            url,
            url,
            "example/models/../../user",
            token,
            "GITHUB_REPOSITORY",
        ),
        (url, url, REPOSITORY, &empty, "the input github-token"),
        // The token does not go to another host.
        (
            url,
            "http://127.0.0.1:1/graphql",
            REPOSITORY,
            token,
            "GITHUB_GRAPHQL_URL",
        ),
    ] {
        let error = wait_for(async {
            let of = Environment {
                api_url: api_url.to_owned(),
                graphql_url: graphql_url.to_owned(),
                repository: repository.to_owned(),
                ..Environment::default()
            };
            let github = Github::new(&of, token, 0.0)?;
            github
                .graphql::<Value>("{ viewer { login } }", &Value::Null)
                .await
        });
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with(&format!("{named} is not ")), "{error}");
    }
}

// Faults.

/// Each row: the method, the fault, how many requests meet it (`-`: all), how many are sent, and the error with what it says; none
/// where the request is answered in the end.
const FAULTS: &str = "
GET | 500 | 4 | 5 |
GET | 502 | 4 | 5 |
GET | 503 | 4 | 5 |
GET | 429 | 4 | 5 |
GET | secondary 30 | 4 | 5 |
GET | secondary | 4 | 5 |
GET | primary 20 | 4 | 5 |
GET | dropped | 4 | 5 |
a change may be sent again, and what a rate limit kept from being created is created later
PATCH | carried out, dropped | 2 | 3 |
POST | secondary | 2 | 3 |
POST | 429 | 2 | 3 |
trouble that lasts
GET | 502 | - | 5 | Passing: 502, after 5 attempts
GET | secondary | - | 5 | Passing: in a few minutes
GET | dropped | - | 5 | Passing: could not be reached for GET pulls/7
a limit that lasts longer than a minute
POST | primary 1800 | - | 1 | Passing: job again after 20
POST | secondary 1800 | - | 1 | Passing: job again after 20
what a person must correct
POST | forbidden | - | 1 | Forbidden: Resource not accessible by integration
POST | forbidden | - | 1 | Forbidden: permissions:/      contents: read/      pull-requests: write
POST | 404 | - | 1 | NotFound: (404)
POST | 422 | - | 1 | Unprocessable: Validation Failed: Body cannot be blank
POST | 401 | - | 1 | Other: 401
POST | 410 | - | 1 | Other: 410
what may have been created is not created again
POST | carried out, 502 | 1 | 1 | Unsure: the answer was 502
POST | carried out, dropped | 1 | 1 | Unsure: POST issues/7/comments
POST | html | 1 | 1 | Unsure: could not be read
";

fn fault(text: &str) -> Fault {
    let seconds = text
        .split_once(' ')
        .and_then(|(_, number)| number.parse().ok());
    match text {
        "carried out, dropped" => Fault::CarriedOutThenDropped,
        "carried out, 502" => Fault::CarriedOutThen502,
        "dropped" => Fault::Dropped,
        "forbidden" => Fault::Forbidden("issues=write; pull_requests=write".to_owned()),
        "html" => Fault::Text("<html>".to_owned()),
        _ if text.starts_with("secondary") => Fault::SecondaryLimit(seconds),
        _ if text.starts_with("primary") => Fault::PrimaryLimit(seconds.unwrap()),
        status => Fault::Status(status.parse().unwrap()),
    }
}

#[test]
fn what_passes_is_waited_for_and_what_does_not_is_an_error_that_says_what_to_do() {
    for row in FAULTS.lines().filter(|line| line.contains('|')) {
        let [method, failing, times, calls, error] =
            row.split('|').map(str::trim).collect::<Vec<_>>()[..]
        else {
            panic!("{row}")
        };
        let (fake, ..) = with_pull_request();
        let id = fake.comment(7, &User::actions(), "old");
        let method = ["GET", "PATCH", "POST"]
            .into_iter()
            .find(|one| *one == method)
            .unwrap();
        let times = times.parse().unwrap_or(u64::MAX);
        fake.fail(method, "").times(times).with(fault(failing));
        let patched = format!("issues/comments/{id}");
        let body = json!({"body": "ours"});
        let answer: Result<Value, ForgeError> = asked(&fake, async |github| match method {
            "GET" => github.get_json("pulls/7").await,
            "PATCH" => github.send_json(method, &patched, Some(&body)).await,
            _ => (github.send_json(method, "issues/7/comments", Some(&body))).await,
        });
        assert_eq!(fake.calls(method, "").to_string(), calls, "{row}");
        match (answer, error.split_once(": ")) {
            (Ok(_), None) => {}
            (Err(found), Some((kind, said))) => {
                let text = format!("{found} {}", found.help());
                assert_eq!(format!("{:?}", found.kind), kind, "{row}");
                assert!(
                    text.contains(&said.replace('/', "\n")) || text.contains(said),
                    "{row}: {text}"
                );
            }
            (answer, _) => panic!("{row}: {answer:?}"),
        }
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let ((fake, ..), (elsewhere, ..)) = (with_pull_request(), with_pull_request());
    let address = format!("{}/repos/example/models/pulls/7", elsewhere.api_url());
    fake.fail("GET", "/pulls/7").with(Fault::Redirect(address));
    let error = get(&fake, "pulls/7").unwrap_err();
    assert!(error.to_string().contains("301"), "{error}");
    assert_eq!(elsewhere.requests(), []);
}

#[test]
fn an_answer_that_is_no_json_of_that_shape_is_malformed() {
    let (fake, ..) = with_pull_request();
    let deep = "[".repeat(100_000);
    for text in ["", "<html>", "{\"number\": \"seven\"}", "[]", deep.as_str()] {
        fake.recover();
        let text = Fault::Text(text.to_owned());
        fake.fail("GET", "/pulls/7").with(text);
        let error = asked(&fake, async |github| github.pull_request(7).await).unwrap_err();
        assert!(error.to_string().contains("could not be read"), "{error}");
    }
}

#[test]
fn the_token_is_in_no_text() {
    let secret = "ghp_SECRETsecretSECRETsecretSECRETsecret12";
    let (fake, ..) = with_pull_request();
    for failing in ["401", "dropped", "502", "primary 9999"] {
        fake.recover();
        fake.fail("GET", "/pulls/7").with(fault(failing));
        wait_for(async {
            let client = client(&fake, secret);
            let error = client.get_json::<Value>("pulls/7").await.unwrap_err();
            let text = format!("{error} {error:?} {} {client:?}", error.help());
            assert!(!text.contains("SECRET"), "{text}");
        });
    }
    assert!(!format!("{:?}", fake.requests()).contains("SECRET"));
}
