"""The audits as workflows, each a composition of the rooms below. A workflow reads like its section in the paper."""
