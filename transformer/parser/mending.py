"""placeholder"""


class Mender: ...
