//! What DescribeTrainingJob tells of a canary: how far it is, how it ended, where its time went.
