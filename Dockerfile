# The image of the action: one static program, the authorities by which it recognises AWS and GitHub, and an empty /tmp, where
# sources are packed. `scripts/image` makes dist/ so.
FROM scratch
COPY dist/ /
ENTRYPOINT ["/canary-gate"]
