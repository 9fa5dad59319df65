"""Language models: what is said to them, what is asked of them, and all that can stand for one."""
