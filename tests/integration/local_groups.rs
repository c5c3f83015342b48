//! Groups of host processes: what each host is told, and what it gets of the data.

use serde_json::{Value, json};

use crate::project::Project;

const CHANNELS: &str = "        train: {uri: data, distribution: ShardedByS3Key, groups: [data]}
        both: {uri: both, sample: false, groups: [data, dnn]}
";

fn spec(instance: &str, channels: &str) -> String {
    Project::SPEC
        .replace("        train: {uri: data}\n", channels)
        .replace("instance: local", &format!("instance: {instance}"))
        .replace("[1%, 2%, 3%]", "[10%, 20%]")
}

const GROUPS: &str = "{groups: {data: 2x local, dnn: 1x local}}";

/// The first canary's hosts leave what they see in `seen-algo-N`.
fn project(instance: &str, channels: &str) -> Project {
    let project = Project::empty()
        .data("data", 100)
        .data("both", 3)
        .file("canary-gate.yml", &spec(instance, channels));
    let look = format!(
        "out={}/seen-$SM_CURRENT_HOST\nif mkdir \"$out\" 2>/dev/null; then\ncp -r \"$SM_INPUT_CONFIG_DIR\" \"$out/config\"\ncd \"$SM_INPUT_DIR/data\"\nls * > \"$out/data\"\nenv > \"$out/env\"\necho \"$0\" > \"$out/script\"\nfi\n",
        project.root().display()
    );
    project.file("train.sh", &look).file("start.sh", &look)
}

fn config(project: &Project, host: &str) -> Value {
    let text = project.read(&format!("seen-{host}/config/resourceconfig.json"));
    serde_json::from_str(&text).unwrap()
}

fn variable(project: &Project, host: &str, name: &str) -> String {
    let text = project.read(&format!("seen-{host}/env"));
    let mut lines = text.lines();
    lines
        .find_map(|line| line.strip_prefix(&format!("{name}=")))
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn every_host_knows_its_group() {
    let project = project(GROUPS, CHANNELS);
    let report = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json();
    let data = json!({"hosts": ["algo-2", "algo-3"], "instance_group_name": "data", "instance_type": "local"});
    let dnn = json!({"hosts": ["algo-1"], "instance_group_name": "dnn", "instance_type": "local"});
    for (host, group, own) in [
        ("algo-1", "dnn", &dnn),
        ("algo-2", "data", &data),
        ("algo-3", "data", &data),
    ] {
        let config = config(&project, host);
        assert_eq!(config["current_group_name"], group);
        assert_eq!(config["current_instance_group"], group);
        assert_eq!(config["hosts"], json!(["algo-1", "algo-2", "algo-3"]));
        assert_eq!(config["instance_groups"], json!([data, dnn]));
        let told = |name: &str| variable(&project, host, name);
        let json_of = |name: &str| serde_json::from_str::<Value>(&told(name)).unwrap();
        assert_eq!(told("SM_CURRENT_INSTANCE_GROUP"), group);
        assert_eq!(json_of("SM_CURRENT_INSTANCE_GROUP_HOSTS"), own["hosts"]);
        assert_eq!(json_of("SM_INSTANCE_GROUPS"), json!(["data", "dnn"]));
        assert_eq!(
            json_of("SM_INSTANCE_GROUPS_DICT"),
            json!({"data": data, "dnn": dnn})
        );
        assert_eq!(told("SM_DISTRIBUTION_INSTANCE_GROUPS"), "[]");
        assert_eq!(told("SM_IS_HETERO"), "true");
    }
    let hosts = &report["jobs"][0]["measurements"][0]["hosts"];
    let groups: Vec<_> = (hosts.as_array().unwrap().iter())
        .map(|host| {
            (
                host["host"].as_str().unwrap(),
                host["group"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        groups,
        [("algo-1", "dnn"), ("algo-2", "data"), ("algo-3", "data")]
    );
    assert_eq!(
        hosts[0]["bytes"], 0,
        "no channel that is sampled reaches it"
    );
    assert!(hosts[0]["usage"]["memory"]["bytes"].as_u64().unwrap() > 0);
}

/// A record names machines, and not the script that the spec names for them.
#[test]
fn records_of_groups_with_a_script_are_found_again() {
    let groups = GROUPS.replace("}}", "}, entry_point: start.sh}");
    let project = project(&groups, CHANNELS);
    project.write(".gitignore", "seen-*\n");
    let project = project.committed();
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let full = project.run(&["actuals", "--run"]).ended_with(0);
    full.reported("full run on data: 2x local + dnn: 1x local: completed");
    let drift = || project.run(&["drift"]);
    drift().reported("the first check for drift");
    let second = drift();
    assert!(
        !second.stdout.contains("the first check"),
        "{}",
        second.seen()
    );
}

#[test]
fn a_host_that_fails_is_named_with_its_group() {
    let script = "[ $SM_CURRENT_INSTANCE_GROUP = data ] || exec sleep 4181\n[ $SM_CURRENT_HOST = algo-2 ] || exec sleep 4181\necho 'no rows' >&2\nexit 3\n";
    let project = project(GROUPS, CHANNELS).file("train.sh", script);
    let run = project.run(&["run", "--all"]).ended_with(13);
    let run = run.reported("algo-2 of group data failed; the other hosts were ended.");
    assert!(run.stdout.contains("no rows"), "{}", run.seen());
    let log = "algo-2 of group data stderr: no rows";
    run.complained(log);
}

#[test]
fn hosts_that_wait_for_one_that_has_ended_are_named() {
    let script = "[ $SM_CURRENT_INSTANCE_GROUP = data ] || exec sleep 4182\n";
    let project = project(GROUPS, CHANNELS).file("train.sh", script);
    let spec = project.read("canary-gate.yml");
    project.write(
        "canary-gate.yml",
        &spec.replace("max_runtime: 1m", "max_runtime: 1s"),
    );
    let arguments = ["run", "--all", "--quiet", "--format", "json"];
    let report = project.run(&arguments).ended_with(0).json();
    let notes = &report["jobs"][0]["measurements"][0]["notes"];
    let waiting = notes.as_array().unwrap().last().unwrap();
    assert_eq!(
        waiting,
        "At the time limit algo-1 of group dnn still ran; algo-2 of group data, algo-3 of group data had ended."
    );
}

#[test]
fn a_command_that_is_not_there_is_said_of_a_host() {
    let project = project(GROUPS, CHANNELS);
    let spec = project.read("canary-gate.yml");
    project.write(
        "canary-gate.yml",
        &spec.replace("[sh, train.sh]", "[no-such-program, train.sh]"),
    );
    let run = project.run(&["run", "--all"]).ended_with(1);
    // Each has it, and the first to end is named.
    let named = regex::Regex::new(r"algo-\d of group (data|dnn): the command could not be run");
    assert!(named.unwrap().is_match(&run.stderr), "{}", run.seen());
}

#[test]
fn a_channel_is_divided_among_the_hosts_of_its_groups() {
    let project = project(GROUPS, CHANNELS);
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let channels = |host: &str| variable(&project, host, "SM_CHANNELS");
    assert_eq!(channels("algo-1"), r#"["both"]"#);
    assert_eq!(channels("algo-2"), r#"["both","train"]"#);
    assert_eq!(variable(&project, "algo-1", "SM_CHANNEL_TRAIN"), "");
    let files = |host: &str, folder: &str| -> Vec<String> {
        let seen = project.read(&format!("seen-{host}/data"));
        let lines = seen
            .lines()
            .skip_while(|line| *line != format!("{folder}:"));
        let files = lines.skip(1).take_while(|line| !line.is_empty());
        files.map(str::to_owned).collect()
    };
    for host in ["algo-2", "algo-3"] {
        assert_eq!(files(host, "train").len(), 5);
        assert_eq!(files(host, "both").len(), 3);
    }
    let mut drawn = files("algo-2", "train");
    drawn.extend(files("algo-3", "train"));
    drawn.sort();
    drawn.dedup();
    assert_eq!(drawn.len(), 10, "no object goes to two hosts");
}

#[test]
fn groups_have_a_script_of_their_own_and_their_twin_has_not() {
    let groups = GROUPS.replace("}}", "}, entry_point: start.sh}");
    let instance = format!("{groups}\n    alternatives: [local]");
    let project = project(&instance, CHANNELS);
    let report = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json();
    assert_eq!(project.read("seen-algo-1/script"), "start.sh\n");
    assert_eq!(
        variable(&project, "algo-1", "SM_USER_ENTRY_POINT"),
        "start.sh"
    );
    let rows = report["jobs"][0]["forecasts"].as_array().unwrap();
    assert_eq!(rows[0]["instance"], "data: 2x local + dnn: 1x local");
    assert_eq!(rows[1]["instance"], "local");
    assert!(rows[1].get("not_measured").is_none(), "{:#}", rows[1]);
}

/// A record says which machines a canary had, and not which script started it: its key does.
#[test]
fn a_canary_of_groups_is_reused_with_its_own_script_only() {
    let groups = |script: &str| GROUPS.replace("}}", &format!("}}, entry_point: {script}}}"));
    let project = project(&groups("start.sh"), CHANNELS);
    project.write(".gitignore", "seen-*\n");
    let project = project.committed();
    let spent = || {
        let arguments = ["run", "--all", "--quiet", "--format", "json"];
        let report = project.run(&arguments).ended_with(0).json();
        let row = &report["jobs"][0]["forecasts"][0];
        assert!(row["estimates"]["time_seconds"].is_object(), "{row:#}");
        report["jobs"][0]["spend"]["canary_seconds"]
            .as_f64()
            .unwrap()
    };
    assert!(spent() > 0.0);
    assert!(spent() < 1e-9, "all canaries are on record");
    project.write("canary-gate.yml", &spec(&groups("train.sh"), CHANNELS));
    assert!(spent() > 0.0);
}

#[test]
fn a_cluster_without_groups_has_every_channel_whole() {
    let instance = format!("2x local\n    alternatives: [{GROUPS}]");
    let project = project(&instance, CHANNELS);
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    for host in ["algo-1", "algo-2"] {
        assert_eq!(
            variable(&project, host, "SM_CHANNELS"),
            r#"["both","train"]"#
        );
        assert_eq!(variable(&project, host, "SM_IS_HETERO"), "false");
        assert_eq!(
            config(&project, host)["current_group_name"],
            "homogeneousCluster"
        );
    }
}
