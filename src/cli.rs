//! The command line. No logic: it says what can be asked, [`crate::app`] does it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::units::{Seconds, Usd};

/// Forecast what a full training run will take from small canary runs, and fail CI on a projected overrun.
#[derive(Debug, Parser)]
#[command(name = "canary-gate", version, propagate_version = true, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: CliCommand,

    #[command(flatten)]
    pub verbosity: Verbosity,
}

/// The exit codes, as `--help` ends.
const EXIT_CODES: &str = "\
Exit codes:
  0   within budget, at risk without --strict, nothing to judge, or unknown with --on-inconclusive pass
  1   the tool failed, or something a person must mend
  2   usage, or an invalid spec
  10  a budget is exceeded
  11  at risk of a budget, under --strict
  12  the training drifted from its baseline
  13  the training code failed in a canary
  14  unknown: it cannot be told today
  130, 143  interrupted";

/// The heading of what concerns canary runs.
const CANARIES: &str = "Canaries";

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Write a commented spec to start from.
    Init(InitArguments),
    /// Check the spec and print every problem; spends nothing.
    Validate(ValidateArguments),
    /// Show affected jobs, their canaries and what they may cost; spends nothing.
    Plan(PlanArguments),
    /// The gate: plan, run the canaries, forecast, judge, report.
    Run(RunArguments),
    /// Forecast from recorded measurements, without running anything.
    Forecast(ForecastArguments),
    /// Render stored reports, or merge parts into one.
    Report(ReportArguments),
    /// Measure anew, and tell whether the same training takes more than it did, and why.
    Drift(DriftArguments),
    /// Look at what earlier runs of the gate found.
    #[command(subcommand)]
    History(HistoryCommand),
    /// Hold the last forecast against a real full run.
    Actuals(ActualsArguments),
    /// Stop the training jobs that dead runs of the gate left, and remove what they staged.
    Sweep(SweepArguments),
    /// Print the JSON Schema of a file format.
    Schema(SchemaArguments),
    /// Print the least IAM policy that the spec needs on AWS.
    IamPolicy(IamPolicyArguments),
    /// Print shell completions.
    Completions(CompletionsArguments),
    /// Run a command, sample its process tree, print one JSON line at the end.
    Probe(ProbeArguments),
    /// What the GitHub Action starts: the gate on an event, told in a comment.
    ///
    /// It is told everything by the runner's variables and by the inputs of action.yml.
    Action,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Logging")]
pub struct Verbosity {
    /// Say more on standard error; twice for everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// No progress, only the report and errors.
    #[arg(long, global = true, env = "CANARY_GATE_QUIET", value_parser = clap::builder::BoolishValueParser::new())]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct SpecArguments {
    /// The spec [default: canary-gate.yml, else .github/canary-gate.yml].
    #[arg(long, value_name = "FILE", env = "CANARY_GATE_SPEC")]
    pub spec: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What changed")]
pub struct ChangeArguments {
    /// Everything counts as changed, whatever else is said.
    #[arg(long)]
    pub all: bool,
    /// Only this job; repeatable.
    #[arg(
        long = "job",
        value_name = "NAME",
        env = "CANARY_GATE_JOB",
        value_delimiter = ','
    )]
    pub jobs: Vec<String>,
    /// Compare with the merge base of this reference [default: origin's HEAD]. Where it is given, policy (budgets, limits,
    /// roles) is taken from the spec at its tip.
    #[arg(long, value_name = "REF", env = "CANARY_GATE_BASE")]
    pub base: Option<String>,
    /// The new side of the comparison [default: the work tree, uncommitted files included].
    #[arg(long, value_name = "REF", env = "CANARY_GATE_HEAD")]
    pub head: Option<String>,
    /// A file that lists the changed paths, one a line, relative to the checkout root; `-` is standard input. It stands
    /// for references.
    #[arg(long, value_name = "FILE")]
    pub changed_files: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Policy")]
pub struct PolicyArguments {
    /// What canaries of the jobs that the spec of `--base` does not know may cost at most, all together.
    #[arg(
        long,
        value_name = "USD",
        env = "CANARY_GATE_MAX_SPEND",
        default_value = "5 USD",
        value_parser = max_spend
    )]
    pub max_spend: Usd,
}

/// An amount that something can be bought for; the unit may be left out, since nothing else is meant.
fn max_spend(text: &str) -> Result<Usd, String> {
    let bare = text.trim();
    let amount = match bare.parse::<f64>() {
        Ok(_) => format!("{bare} USD").parse::<Usd>(),
        Err(_) => bare.parse::<Usd>(),
    };
    match amount {
        Ok(amount) if amount.0 > 0.0 => Ok(amount),
        Ok(_) => Err("it must be more than 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Terminal,
    Markdown,
    Json,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArguments {
    /// What the report on standard output looks like.
    #[arg(
        long,
        value_name = "FORMAT",
        env = "CANARY_GATE_FORMAT",
        default_value = "terminal"
    )]
    pub format: Format,
    /// Also write the report here; repeatable, the kind by extension: .json, .md, .csv.
    #[arg(long = "output", short, value_name = "FILE")]
    pub outputs: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Inconclusive {
    Fail,
    Pass,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Verdict")]
pub struct VerdictArguments {
    /// At risk of a budget fails the check too.
    #[arg(long, env = "CANARY_GATE_STRICT", value_parser = clap::builder::BoolishValueParser::new())]
    pub strict: bool,
    /// Whether an unknown outcome fails the check [default: the spec's, else fail].
    #[arg(long, value_name = "OUTCOME", env = "CANARY_GATE_ON_INCONCLUSIVE")]
    pub on_inconclusive: Option<Inconclusive>,
}

#[derive(Debug, Args)]
pub struct InitArguments {
    /// Where to write; an existing file is never overwritten.
    #[arg(value_name = "FILE", default_value = "canary-gate.yml")]
    pub file: PathBuf,
    /// Start from this training job in SageMaker.
    #[arg(long, value_name = "NAME")]
    pub from_job: Option<String>,
    /// Where that job is [default: AWS_REGION].
    #[arg(long, value_name = "REGION", requires = "from_job")]
    pub region: Option<String>,
}

#[derive(Debug, Args)]
pub struct ValidateArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
}

#[derive(Debug, Args)]
pub struct PlanArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    #[command(flatten)]
    pub change: ChangeArguments,
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// Only the job's instance, no alternatives.
    #[arg(long, help_heading = CANARIES)]
    pub only_instance: bool,
}

#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    #[command(flatten)]
    pub change: ChangeArguments,
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// Only the job's instance, no alternatives.
    #[arg(long, help_heading = CANARIES)]
    pub only_instance: bool,
    /// Take no canary of an earlier run for one of this run: measure everything anew.
    #[arg(long, env = "CANARY_GATE_FRESH", value_parser = clap::builder::BoolishValueParser::new(), help_heading = CANARIES)]
    pub fresh: bool,
    /// Also keep the measurements here; .jsonl is appended to as each canary ends, .csv is written at the end.
    #[arg(long, value_name = "FILE", help_heading = CANARIES)]
    pub measurements: Option<PathBuf>,
    /// Hand this variable on to the training code; repeatable.
    #[arg(long = "pass-env", value_name = "NAME", help_heading = CANARIES)]
    pub pass_env: Vec<String>,
    #[command(flatten)]
    pub verdict: VerdictArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

#[derive(Debug, Args)]
pub struct ForecastArguments {
    /// Measurements: JSON lines, or a CSV table of the seed library or of recorded runs.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Only this job; repeatable.
    #[arg(long = "job", value_name = "NAME", value_delimiter = ',')]
    pub jobs: Vec<String>,
    /// Price region [default: the spec's, else AWS_REGION, else us-east-1].
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    #[command(flatten)]
    pub verdict: VerdictArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Stored reports (.json); several are merged into one.
    #[arg(long = "from", value_name = "FILE", required = true, num_args = 1..)]
    pub from: Vec<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// List records, newest first.
    List(HistoryListArguments),
    /// Show one record.
    Show(HistoryShowArguments),
    /// Write records for other programs, oldest first.
    Export(HistoryExportArguments),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RecordFormat {
    Terminal,
    Json,
}

#[derive(Debug, Args)]
pub struct HistoryListArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Only records of this job.
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub limit: usize,
    /// What the list on standard output looks like.
    #[arg(long, value_name = "FORMAT", default_value = "terminal")]
    pub format: RecordFormat,
}

#[derive(Debug, Args)]
pub struct HistoryShowArguments {
    /// Which record: its id, as `history list` shows it, or its file's name or path.
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub spec: SpecArguments,
    /// The whole record, or a page to read.
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    pub format: RecordFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// The forecasts: one line for each record and instance configuration.
    Csv,
    /// The canary runs as the table of the library canary_training, each once.
    Seed,
    /// The canary runs as measurements, one a line, each once; `forecast` reads them.
    Jsonl,
}

#[derive(Debug, Args)]
pub struct HistoryExportArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Only records of this job.
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// What is written; by default what the extension of --output says, else csv.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ExportFormat>,
    /// Write here rather than to standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DriftArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Only this job; repeatable.
    #[arg(
        long = "job",
        value_name = "NAME",
        env = "CANARY_GATE_JOB",
        value_delimiter = ','
    )]
    pub jobs: Vec<String>,
    /// Compare the records of the history, and measure nothing.
    #[arg(long, conflicts_with = "accept")]
    pub from_history: bool,
    /// Make the newest check the baseline of those to come, and measure nothing: for a change that is meant to stay.
    #[arg(long, conflicts_with_all = ["outputs", "pass_env"])]
    pub accept: bool,
    /// Hand this variable on to the training code; repeatable.
    #[arg(long = "pass-env", value_name = "NAME", help_heading = CANARIES)]
    pub pass_env: Vec<String>,
    #[command(flatten)]
    pub verdict: VerdictArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

#[derive(Debug, Args)]
pub struct ActualsArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Run the full job once, here, and hold the last forecast against it.
    #[arg(long, required = true)]
    pub run: bool,
    /// Only this job; repeatable.
    #[arg(long = "job", value_name = "NAME", value_delimiter = ',')]
    pub jobs: Vec<String>,
    /// Hand this variable on to the training code; repeatable.
    #[arg(long = "pass-env", value_name = "NAME", help_heading = CANARIES)]
    pub pass_env: Vec<String>,
}

#[derive(Debug, Args)]
pub struct SweepArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Those of this run of the gate, such as a GITHUB_RUN_ID, rather than those past their expiry.
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// Only show what would be stopped and removed.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaKind {
    Spec,
    Report,
    Measurement,
}

#[derive(Debug, Args)]
pub struct SchemaArguments {
    /// Which format.
    #[arg(value_name = "FORMAT")]
    pub kind: SchemaKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyGrantee {
    /// Who runs canary-gate.
    Ci,
    /// The role that training jobs run as.
    Job,
}

#[derive(Debug, Args)]
pub struct IamPolicyArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Whom the policy is for.
    #[arg(long = "for", value_name = "WHOM", default_value = "ci")]
    pub grantee: PolicyGrantee,
}

#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// For which shell.
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct ProbeArguments {
    /// Write the JSON line here rather than to standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Begin the line on standard output with `canary-gate-probe` and this, to find it among the command's own lines.
    #[arg(
        long,
        value_name = "NONCE",
        env = "CANARY_GATE_MARK",
        hide_env_values = true
    )]
    pub mark: Option<String>,
    /// End the command after this, e.g. `1h`.
    #[arg(long, value_name = "DURATION")]
    pub max_runtime: Option<Seconds>,
    /// Between asking the command to end and ending it.
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub grace: Seconds,
    /// A folder that the command sees as /opt/ml, where a mount namespace is allowed.
    #[arg(long, value_name = "DIR")]
    pub opt_ml: Option<PathBuf>,
    /// End the command when the process with this number, which started the probe, ends.
    #[arg(long, value_name = "PID")]
    pub end_with_parent: Option<i32>,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}
