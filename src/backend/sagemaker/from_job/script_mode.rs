//! How the SDK v2 says which script the training toolkit starts: in hyperparameters.

use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;

/// Set by the SDK on every job of a script, for the toolkit.
pub(super) const PROGRAM: &str = "sagemaker_program";
pub(super) const SUBMIT_DIRECTORY: &str = "sagemaker_submit_directory";

/// Whether the toolkit starts a script, whose archive canary-gate brings itself.
pub(super) fn is_script(job: &DescribeTrainingJobOutput) -> bool {
    job.hyper_parameters()
        .is_some_and(|all| all.contains_key(PROGRAM))
}
