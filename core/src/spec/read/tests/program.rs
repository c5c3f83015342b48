//! What a SageMaker job starts, and from where.

use super::*;

const PLAIN: &str = include_str!("testdata/program.yml");

#[test]
fn a_framework_is_an_image_of_the_table() {
    let of = |framework: &str| {
        PLAIN.replace(
            "image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/churn:1",
            &format!("framework: {framework}"),
        )
    };
    let framework = |text: &str| {
        let spec =
            try_read(&of(text)).unwrap_or_else(|errors| panic!("{}", errors.render(false, 200)));
        let sagemaker = spec.jobs[0].training.sagemaker.clone();
        sagemaker.framework.unwrap().to_string()
    };
    assert_eq!(
        framework("{pytorch: 2.8, python: py312}"),
        "pytorch 2.8.0 py312"
    );
    assert_eq!(framework("{pytorch: 2.10}"), "pytorch 2.10.0 py313");
    assert_eq!(framework("{pytorch: 2.0}"), "pytorch 2.0.1 py310");
    assert_eq!(framework("{xgboost: 1.7}"), "xgboost 1.7-1 py3");
}
