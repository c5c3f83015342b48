use super::*;
use crate::spec;

const SPEC: &str = "\
version: 1
backend: sagemaker
region: eu-west-1
jobs:
  churn:
    training:
      image: 683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1
      role: arn:aws:iam::123456789012:role/SageMakerTraining
      channels:
        train: {uri: s3://my-bucket/churn/train/}
        validation: {uri: 's3://my-bucket/churn/val', sample: false}
      output: s3://my-output/canary
    instance: ml.m5.2xlarge
";

fn read(text: &str) -> Spec {
    spec::read("canary-gate.yml", text.as_bytes(), &[]).unwrap()
}

/// A statement in one line, which is held against IAM's grammar as far as it is used here:
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html>.
fn said(statement: &Value) -> String {
    let texts = |key: &str| -> Vec<&str> {
        let list = statement[key].as_array().unwrap().iter();
        list.map(|text| text.as_str().unwrap()).collect()
    };
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let (sid, actions, resources) = (&statement["Sid"], texts("Action"), texts("Resource"));
    let sid = sid.as_str().unwrap();
    assert!(is_name(sid) && statement["Effect"] == "Allow", "{sid}");
    let is_action = |action: &&str| {
        let (service, name) = action.split_once(':').unwrap();
        is_name(service) && is_name(name)
    };
    assert!(!actions.is_empty() && actions.iter().all(is_action));
    let is_resource =
        |one: &&str| *one == "*" || one.starts_with("arn:aws") && one.splitn(6, ':').count() == 6;
    assert!(!resources.is_empty() && resources.iter().all(is_resource));
    let condition = statement
        .get("Condition")
        .map_or(String::new(), |condition| {
            for (operator, tests) in condition.as_object().unwrap() {
                let known =
                    "StringEquals StringLike ForAnyValue:StringEquals NumericEqualsIfExists";
                assert!(known.split(' ').any(|known| known == operator));
                assert!(!tests.as_object().unwrap().is_empty());
            }
            format!(" if {condition}")
        });
    let (actions, resources) = (actions.join(" "), resources.join(" "));
    format!("{sid}: {actions} on {resources}{condition}")
}

/// The statements for who runs the gate, and for the role of its jobs.
fn statements(spec: &Spec, region: Option<&str>) -> Vec<String> {
    let of = |(whose, grantee): (&str, Grantee)| {
        let policy = policy(spec, region, grantee).unwrap();
        assert_eq!(policy["Version"], "2012-10-17");
        let all = policy["Statement"].as_array().unwrap().iter();
        let all: Vec<String> = all.map(|one| format!("{whose} {}", said(one))).collect();
        let sids: BTreeSet<&str> = all
            .iter()
            .filter_map(|one| Some(one.split_once(':')?.0))
            .collect();
        assert_eq!(sids.len(), all.len());
        all
    };
    [("ci", Grantee::Ci), ("job", Grantee::Job)]
        .into_iter()
        .flat_map(of)
        .collect()
}

/// Each case of `cases.txt` has what is replaced in the spec; the snapshot has what that changes in the policies.
#[test]
fn a_policy_is_as_narrow_as_iam_lets_it_be() {
    let plain = statements(&read(SPEC), None);
    let mut shown = plain.join("\n");
    for case in include_str!("cases.txt").split("\n\n") {
        let (name, edits) = case.split_once('\n').unwrap();
        let text = edits.lines().fold(SPEC.to_owned(), |text, edit| {
            let (old, new) = edit.split_once("=>").unwrap();
            assert!(text.contains(old.trim()), "{old}");
            text.replace(old.trim(), &new.trim().replace("\\n", "\n"))
        });
        let all = statements(&read(&text), None);
        shown += &format!("\n\n{name}");
        for line in plain.iter().filter(|line| !all.contains(line)) {
            shown += &format!("\n- {line}");
        }
        for line in all.iter().filter(|line| !plain.contains(line)) {
            shown += &format!("\n+ {line}");
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_region_at_hand_stands_where_the_spec_names_none() {
    let spec = read(&SPEC.replace("region: eu-west-1\n", ""));
    assert_eq!(
        statements(&spec, Some("eu-west-1")),
        statements(&read(SPEC), None)
    );
}

const LOCAL: &str = "version: 1\nbackend: local\njobs:\n  a:\n    training: {command: [sh], channels: {t: {uri: d}}}\n    instance: local\n";

#[test]
fn a_history_in_s3_needs_a_policy_wherever_canaries_run() {
    assert_eq!(policy(&read(LOCAL), None, Grantee::Ci), None);
    let spec = read(&LOCAL.replace("jobs:", "history: s3://team/gate/\njobs:"));
    let for_ci = policy(&spec, None, Grantee::Ci).unwrap();
    let all = for_ci["Statement"].as_array().unwrap().iter().map(said);
    assert_eq!(
        all.collect::<Vec<_>>(),
        [
            "History: s3:GetObject s3:PutObject on arn:aws:s3:::team/gate/*",
            r#"List1: s3:ListBucket on arn:aws:s3:::team if {"StringLike":{"s3:prefix":["gate/*"]}}"#,
        ]
    );
    assert_eq!(policy(&spec, None, Grantee::Job), None);
}
