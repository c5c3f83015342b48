//! The images of AWS for training, as they were on [`AS_OF`]: versions, Python and the accounts that hold them.
//!
//! Source: the image configuration of the SageMaker Python SDK (`sagemaker-core` 2.27.0 on PyPI, Apache 2.0), whose facts these are.

/// The day of the table.
pub(super) const AS_OF: &str = "2026-11-22";

/// How an image's tag is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagForm {
    /// `2.8.0-gpu-py312`: AWS Deep Learning Containers, for machines with and without GPUs.
    DeepLearning,
    /// `1.4-2-cpu-py3`
    CpuOnly,
    /// `1.7-1`
    Plain,
}

/// A framework: its key in the spec, the repository of its images, their tags and accounts.
#[derive(Debug)]
pub(super) struct FrameworkImages {
    pub(super) name: &'static str,
    pub(super) repository: &'static str,
    pub(super) form: TagForm,
    pub(super) registries: &'static [(&'static str, &'static str)],
    /// Versions in their order, each with its Python.
    pub(super) versions: &'static [(&'static str, &'static str)],
}

/// All that are known.
pub(super) const FRAMEWORKS: [FrameworkImages; 4] = [
    FrameworkImages {
        name: "pytorch",
        repository: "pytorch-training",
        form: TagForm::DeepLearning,
        registries: &DEEP_LEARNING,
        versions: &[
            ("1.13.1", "py39"),
            ("2.0.0", "py310"),
            ("2.0.1", "py310"),
            ("2.1.0", "py310"),
            ("2.2.0", "py310"),
            ("2.3.0", "py311"),
            ("2.4.0", "py311"),
            ("2.5.1", "py311"),
            ("2.6.0", "py312"),
            ("2.7.1", "py312"),
            ("2.8.0", "py312"),
            ("2.9.0", "py312"),
            ("2.10.0", "py313"),
        ],
    },
    FrameworkImages {
        name: "tensorflow",
        repository: "tensorflow-training",
        form: TagForm::DeepLearning,
        registries: &DEEP_LEARNING,
        versions: &[
            ("2.11.0", "py39"),
            ("2.12.0", "py310"),
            ("2.13.0", "py310"),
            ("2.14.1", "py310"),
            ("2.16.2", "py310"),
            ("2.18.0", "py310"),
            ("2.19.0", "py312"),
            ("2.21.0", "py312"),
        ],
    },
    FrameworkImages {
        name: "sklearn",
        repository: "sagemaker-scikit-learn",
        form: TagForm::CpuOnly,
        registries: &ALGORITHMS,
        versions: &[
            ("0.23-1", "py3"),
            ("1.0-1", "py3"),
            ("1.2-1", "py3"),
            ("1.4-2", "py3"),
            ("1.9-0", "py3"),
        ],
    },
    FrameworkImages {
        name: "xgboost",
        repository: "sagemaker-xgboost",
        form: TagForm::Plain,
        registries: &ALGORITHMS,
        versions: &[
            ("1.2-2", "py3"),
            ("1.3-1", "py3"),
            ("1.5-1", "py3"),
            ("1.7-1", "py3"),
            ("3.0-5", "py3"),
            ("3.2-0", "py3"),
        ],
    },
];

/// The accounts of AWS Deep Learning Containers, by region.
const DEEP_LEARNING: [(&str, &str); 39] = [
    ("af-south-1", "626614931356"),
    ("ap-east-1", "871362719292"),
    ("ap-east-2", "975050140332"),
    ("ap-northeast-1", "763104351884"),
    ("ap-northeast-2", "763104351884"),
    ("ap-northeast-3", "364406365360"),
    ("ap-south-1", "763104351884"),
    ("ap-south-2", "772153158452"),
    ("ap-southeast-1", "763104351884"),
    ("ap-southeast-2", "763104351884"),
    ("ap-southeast-3", "907027046896"),
    ("ap-southeast-4", "457447274322"),
    ("ap-southeast-5", "550225433462"),
    ("ap-southeast-6", "633930458069"),
    ("ap-southeast-7", "590183813437"),
    ("ca-central-1", "763104351884"),
    ("ca-west-1", "204538143572"),
    ("cn-north-1", "727897471807"),
    ("cn-northwest-1", "727897471807"),
    ("eu-central-1", "763104351884"),
    ("eu-central-2", "380420809688"),
    ("eu-north-1", "763104351884"),
    ("eu-south-1", "692866216735"),
    ("eu-south-2", "503227376785"),
    ("eu-west-1", "763104351884"),
    ("eu-west-2", "763104351884"),
    ("eu-west-3", "763104351884"),
    ("il-central-1", "780543022126"),
    ("me-central-1", "914824155844"),
    ("me-south-1", "217643126080"),
    ("me-west-1", "124382933778"),
    ("mx-central-1", "637423239942"),
    ("sa-east-1", "763104351884"),
    ("us-east-1", "763104351884"),
    ("us-east-2", "763104351884"),
    ("us-gov-east-1", "446045086412"),
    ("us-gov-west-1", "442386744353"),
    ("us-west-1", "763104351884"),
    ("us-west-2", "763104351884"),
];

/// The accounts of SageMaker's scikit-learn and XGBoost, by region.
const ALGORITHMS: [(&str, &str); 33] = [
    ("af-south-1", "510948584623"),
    ("ap-east-1", "651117190479"),
    ("ap-northeast-1", "354813040037"),
    ("ap-northeast-2", "366743142698"),
    ("ap-northeast-3", "867004704886"),
    ("ap-south-1", "720646828776"),
    ("ap-south-2", "628508329040"),
    ("ap-southeast-1", "121021644041"),
    ("ap-southeast-2", "783357654285"),
    ("ap-southeast-3", "951798379941"),
    ("ap-southeast-4", "106583098589"),
    ("ca-central-1", "341280168497"),
    ("ca-west-1", "190319476487"),
    ("cn-north-1", "450853457545"),
    ("cn-northwest-1", "451049120500"),
    ("eu-central-1", "492215442770"),
    ("eu-central-2", "680994064768"),
    ("eu-north-1", "662702820516"),
    ("eu-south-1", "978288397137"),
    ("eu-south-2", "104374241257"),
    ("eu-west-1", "141502667606"),
    ("eu-west-2", "764974769150"),
    ("eu-west-3", "659782779980"),
    ("il-central-1", "898809789911"),
    ("me-central-1", "272398656194"),
    ("me-south-1", "801668240914"),
    ("sa-east-1", "737474898029"),
    ("us-east-1", "683313688378"),
    ("us-east-2", "257758044811"),
    ("us-gov-east-1", "237065988967"),
    ("us-gov-west-1", "414596584902"),
    ("us-west-1", "746614075791"),
    ("us-west-2", "246618743249"),
];
