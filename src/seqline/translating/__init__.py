"""What a translator is made of: requests and outputs, the source side, the target side, and models that are searched as one."""
