# Bucket, roles and policies of docs/sagemaker-from-zero.md. `terraform apply` after each change of the spec's places.

variable "repository" { default = "my-org/my-repository" }
variable "bucket" { default = "my-team-canary-gate" }

resource "aws_s3_bucket" "canary_gate" {
  bucket = var.bucket
}

resource "aws_s3_bucket_lifecycle_configuration" "canary_gate" {
  bucket = aws_s3_bucket.canary_gate.id
  rule {
    id     = "canaries"
    status = "Enabled"
    filter { prefix = "canaries/" }
    expiration { days = 30 }
    abort_incomplete_multipart_upload { days_after_initiation = 1 }
  }
}

resource "aws_iam_role" "training" {
  name = "canary-gate-training"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "sagemaker.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy" "training" {
  role   = aws_iam_role.training.id
  policy = file("job-policy.json") # canary-gate iam-policy --for job
}

resource "aws_iam_openid_connect_provider" "github" {
  url            = "https://token.actions.githubusercontent.com"
  client_id_list = ["sts.amazonaws.com"]
}

resource "aws_iam_role" "ci" {
  name = "canary-gate-ci"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Federated = aws_iam_openid_connect_provider.github.arn }
      Action    = "sts:AssumeRoleWithWebIdentity"
      Condition = {
        StringEquals = {
          "token.actions.githubusercontent.com:aud" = "sts.amazonaws.com"
          "token.actions.githubusercontent.com:sub" = "repo:${var.repository}:environment:canary-gate"
        }
      }
    }]
  })
}

resource "aws_iam_role_policy" "ci" {
  role   = aws_iam_role.ci.id
  policy = file("ci-policy.json") # canary-gate iam-policy --for ci
}

output "CANARY_GATE_ROLE" {
  value = aws_iam_role.ci.arn
}
